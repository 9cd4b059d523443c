"""``kgagg gather``: the parts that `kgagg apply --part` wrote, as one file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "gather",
        help="join the parts of `kgagg apply --part`",
        description="Join the parts that `kgagg apply --part` wrote, given in any order: the "
        "result is the file that `kgagg apply` writes without --part, byte for byte.",
        epilog="example: kgagg apply umls rules.txt --part 1/2 --out 1.parquet && kgagg apply umls "
        "rules.txt --part 2/2 --out 2.parquet && kgagg gather 1.parquet 2.parquet --out "
        "test.parquet",
    )
    parser.add_argument("parts", nargs="+", type=Path, metavar="PART.parquet")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.parquet", help="where to write"
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Gather."""
    from kgagg.engine.files import gather_firings

    with args.watch.stage("gather"):
        gather_firings(args.parts, args.out)
    options.done(args, f"{len(args.parts)} parts", args.out)
