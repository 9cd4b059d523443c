"""`kgagg doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "doctor",
        help="report what is installed, what is missing and how to get it",
        description="Report which packages, processors, memory, caches, Java, jars and datasets "
        "are available, what is missing and how to get it.",
        epilog="example: kgagg doctor",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the report here")
    return parser


def run(args: argparse.Namespace) -> None:
    """Print a section for each thing that kgagg needs."""
    found = {}
    for title, section in (
        ("packages", _packages()),
        ("machine", _machine()),
        ("cache", _cache()),
        ("java", _java()),
        ("jars", _jars()),
        ("datasets", _datasets()),
    ):
        found[title] = list(section)
        print("\n  ".join([title, *found[title]]))
    if args.json:
        options.write_json(args.json, found)


def _packages() -> Iterator[str]:
    import platform
    import re
    from importlib import metadata

    yield f"python {platform.python_version()} on {platform.platform()}"
    yield f"kgagg {metadata.version('kgagg')}"
    for requirement in metadata.requires("kgagg") or ():
        wanted, _, marker = (part.strip() for part in requirement.partition(";"))
        extra = re.search(r"extra == ['\"](\w+)['\"]", marker)
        if extra and extra[1] in ("dev", "docs"):
            continue
        name = re.match(r"[\w.-]+", wanted)
        assert name is not None
        try:
            yield f"{name[0]} {metadata.version(name[0])}"
        except metadata.PackageNotFoundError:
            use = f", for {extra[1]}" if extra else ""
            yield f"{name[0]}: missing{use}; get it with: pip install '{wanted}'"


def _machine() -> Iterator[str]:
    from kgagg.mining.java import heap
    from kgagg.util.machine import memory_limit, processors

    yield f"{processors()} threads"
    yield f"{memory_limit() / 2**30:.1f} GB memory ({heap(None) / 2**10:.1f} GB for Java)"


def _cache() -> Iterator[str]:
    import os

    from kgagg.util.files import cache_folder

    folder = cache_folder()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    writable = "" if os.access(nearest, os.W_OK) else "; not writable: set KGAGG_CACHE elsewhere"
    yield f"{folder} ({size / 2**20:,.0f} MB){writable}"
    for name in ("KGAGG_MIRROR", "KGAGG_OFFLINE"):
        if name in os.environ:
            yield f"{name}={os.environ[name]}"


def _java() -> Iterator[str]:
    from kgagg.errors import InputError
    from kgagg.mining.java import GET_JAVA, candidates, probe

    found = False
    for origin, path in candidates():
        try:
            java = probe(origin, path)
        except InputError as error:
            yield str(error)
            continue
        found = True
        yield f"{java.version}: {path} (from {origin})"
    if not found:
        yield f"missing; get it with: {GET_JAVA}"


def _jars() -> Iterator[str]:
    import shlex

    from kgagg.data.download import cache_path
    from kgagg.mining.jars import JARS, in_cache

    for name, jar in JARS.items():
        source = jar.artifact.sources[0]
        if path := in_cache(jar.artifact):
            yield f"{name}: {path}"
        elif jar.artifact.digest:
            target = shlex.quote(str(cache_path(jar.artifact)))
            yield (
                f"{name}: missing; comes at first use, or get it with: "
                f"curl -fL --create-dirs -o {target} {source}"
            )
        else:
            yield (
                f"{name}: missing, and no digest is known; get it with: "
                f"kgagg mine {jar.dialect} DATA --out FILE --jar {name} --unverified-jar ({source})"
            )


def _datasets() -> Iterator[str]:
    from kgagg.data.registry import registry

    for name, dataset in registry().items():
        if (dataset.folder / "train.txt").exists():
            yield f"{name}: {dataset.folder}"
        else:
            yield f"{name}: missing; get it with: kgagg fetch {name}"
