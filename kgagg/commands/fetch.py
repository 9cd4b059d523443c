"""``kgagg fetch``: bring datasets, jars and pinned files to this machine, verified."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser
from kgagg.errors import Failed, InputError


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "fetch",
        help="fetch datasets and jars, verified by content",
        description="Fetch registered datasets and the miners' jars into the cache, verified by "
        "content, and print where each is; or, with --digest, any file of known content.",
        epilog="example: kgagg fetch umls nations",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="a dataset or jar; with --to also a folder with a graph, which is written as "
        "train.txt, valid.txt and test.txt; with --digest a URL or a path",
    )
    parser.add_argument(
        "--digest", metavar="ALGORITHM:HEX", help="the digest that the file must have"
    )
    parser.add_argument(
        "--to",
        type=Path,
        metavar="DIR",
        help="also copy to DIR/NAME, a jar to DIR/NAME.jar; with --digest to exactly this file",
    )
    parser.add_argument(
        "--mirror",
        type=Path,
        metavar="DIR",
        help="a folder to try first, with NAME.tar.gz or NAME/ (default: KGAGG_MIRROR)",
    )
    parser.add_argument(
        "--offline", action="store_true", help="use only the cache and the mirror (KGAGG_OFFLINE=1)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the path of each name here"
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Fetch everything, and print where it is."""
    network = {"mirror": args.mirror, "offline": args.offline, "quiet": args.quiet}
    if args.digest:
        if len(args.names) > 1:
            raise InputError("--digest is for one file, expected one NAME")
        fetched = _fetch_file(args.names[0], args, network)
        places: Iterator[tuple[str, Path | Failed]] = iter([(args.names[0], fetched)])
    else:
        places = _fetch_named(args, network)
    found, failed = {}, []
    for name, path in places:
        if isinstance(path, Failed):
            print(f"kgagg: error: {path}", file=sys.stderr)
            failed.append(name)
        else:
            print(f"{name}\t{path}", flush=True)
            found[name] = str(path)
    if args.json:
        options.write_json(args.json, found)
    if failed:
        raise Failed(f"not fetched: {', '.join(failed)}")
    options.done(args, f"{len(found)} fetched", args.to)


def _fetch_named(
    args: argparse.Namespace, options: dict[str, Any]
) -> Iterator[tuple[str, Path | Failed]]:
    """Fetch datasets and jars, one after the other, whether one fails or not.

    A wrong name is reported before anything is fetched.
    """
    from kgagg.data import datasets, registry
    from kgagg.graph.graph import Graph
    from kgagg.mining.jars import JARS

    own = [name for name in args.names if args.to and name not in JARS and Path(name).is_dir()]
    wanted = {
        name: None if name in JARS or name in own else registry.find(name) for name in args.names
    }
    for name, dataset in wanted.items():
        try:
            if name in own:
                place = args.to / Path(name).name.partition(".")[0]
                yield name, Graph.read(name).write(place)
                continue
            if dataset is None:
                yield name, _fetch_jar(name, args, options)
                continue
            path = datasets.fetch(dataset, **options)
            yield name, datasets.copy(dataset, path, args.to) if args.to else path
        except Failed as failure:
            yield name, failure


def _fetch_file(source: str, args: argparse.Namespace, options: dict[str, Any]) -> Path:
    from urllib.parse import urlsplit

    from kgagg.data.download import Artifact, obtain

    local = Path(source).resolve()
    url = local.as_uri() if local.exists() else source
    path = obtain(Artifact(Path(urlsplit(url).path).name, args.digest, (url,)), **options)
    return _copied(path, args.to) if args.to else path


def _fetch_jar(name: str, args: argparse.Namespace, options: dict[str, Any]) -> Path:
    from kgagg.data.download import obtain
    from kgagg.mining.jars import JARS

    artifact = JARS[name].artifact
    if not artifact.digest:
        raise InputError(f"{name}: no digest is known to verify it; see kgagg doctor")
    path = obtain(artifact, **options)
    return _copied(path, args.to / f"{name}.jar") if args.to else path


def _copied(path: Path, to: Path) -> Path:
    import shutil

    from kgagg.util.files import replacing

    with replacing(to) as temporary:
        shutil.copyfile(path, temporary)
    return to
