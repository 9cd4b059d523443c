"""``kgagg report manifest``: the digest of every file, and an RO-Crate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(parts: Any) -> Parser:
    """Add the parser of this part."""
    parser: Parser = parts.add_parser(
        "manifest",
        help="the digest of every file, and an RO-Crate",
        epilog="example: kgagg report manifest run/result.json --results run/result.json "
        "--root run --config config.json "
        "--lock envs/requirements.lock --workflow Snakefile",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the files of the run")
    parser.add_argument(
        "--results", nargs="+", type=Path, required=True, metavar="RESULT", help="of `result`"
    )
    parser.add_argument("--root", type=Path, required=True, metavar="FOLDER", help="of the run")
    parser.add_argument(
        "--config", type=Path, required=True, metavar="FILE.json", help="of the run"
    )
    parser.add_argument("--lock", type=Path, required=True, metavar="FILE", help="locked packages")
    parser.add_argument(
        "--workflow", type=Path, required=True, metavar="FILE", help="the Snakefile"
    )
    parser.add_argument(
        "--jar",
        action="append",
        default=[],
        metavar="NAME",
        help="a jar that mined; may be repeated",
    )
    return parser


def make(args: argparse.Namespace) -> None:
    """Write the digests of all files of a run."""
    import shutil

    from kgagg.data.download import digest_of
    from kgagg.mining.jars import JARS, in_cache
    from kgagg.report.contents import fingerprints_of
    from kgagg.report.manifest import crate, make_manifest
    from kgagg.report.results import read_json

    paths = {
        name: in_cache(JARS[name].artifact) if name in JARS else Path(name) for name in args.jar
    }
    jars = {name: f"sha256:{digest_of(path, 'sha256')}" for name, path in paths.items() if path}
    manifest = make_manifest(
        args.root,
        args.files,
        config=read_json(args.config),
        lock=args.lock,
        jars=jars,
        fingerprints=fingerprints_of([read_json(path) for path in args.results]),
    )
    options.write_json(args.root / "manifest.json", manifest)
    shutil.copyfile(args.workflow, args.root / args.workflow.name)
    options.write_json(args.root / "ro-crate-metadata.json", crate(manifest, args.workflow.name))
