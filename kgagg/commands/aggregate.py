"""``kgagg aggregate``: rank by strategies what `kgagg apply` found."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "aggregate",
        help="rank by strategies what `kgagg apply` found",
        description="Read a file of `kgagg apply`, aggregate with each strategy, and write the "
        "ranks of the targets: a row for each triple, direction and strategy. A strategy that "
        "needs a fit is given as a file of `kgagg fit`.",
        epilog="example: kgagg fit umls rules.txt --strategy 'noisy-or-top-h*' --out top-h.kgagg "
        "&& kgagg aggregate test.parquet --strategies max+,top-h.kgagg --ranks ranks.parquet",
    )
    parser.add_argument("firings", type=Path, metavar="FILE.parquet", help="from `kgagg apply`")
    parser.add_argument(
        "--ranks", type=Path, required=True, metavar="FILE.parquet", help="where to write"
    )
    parser.add_argument(
        "--strategies",
        required=True,
        metavar="A,B,...",
        help="max, noisy-or-top-5, ...; FILE.kgagg: a strategy that `kgagg fit` wrote",
    )
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Read, rank, write."""
    from kgagg.engine.files import FiringsFile
    from kgagg.strategies.registry import strategies
    from kgagg.strategies.scoring import rank_file

    wanted = strategies(args.strategies.split(","), FiringsFile(args.firings).names)
    ranks = rank_file(args.firings, wanted, watch=args.watch, threads=args.threads)
    ranks.write(args.ranks)
    options.done(args, f"ranks of {len(wanted)} strategies", args.ranks)
    return {"strategies": [one.name for one in wanted]}
