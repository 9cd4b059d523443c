"""``kgagg fetch``: bring registered datasets to this machine, verified."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "fetch",
        help="fetch registered datasets, verified by content",
        description="Fetch registered datasets into the cache, verified by content, and print the "
        "folder of each.",
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="a registered dataset")
    parser.add_argument("--to", type=Path, metavar="DIR", help="also copy each to DIR/NAME")
    parser.add_argument(
        "--mirror",
        type=Path,
        metavar="DIR",
        help="a folder to look into first, with NAME.tar.gz or NAME/ (default: KGAGG_MIRROR)",
    )
    parser.add_argument(
        "--offline", action="store_true", help="use the cache and the mirror only (KGAGG_OFFLINE=1)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    return parser


def run(args: argparse.Namespace) -> None:
    """Fetch all datasets; a wrong name is told before anything is fetched."""
    from kgagg import datasets

    wanted = [datasets.find(name) for name in args.names]
    for dataset in wanted:
        folder = datasets.fetch(dataset, mirror=args.mirror, offline=args.offline, quiet=args.quiet)
        if args.to:
            folder = datasets.copy(dataset, folder, args.to)
        print(f"{dataset.name}\t{folder}", flush=True)
