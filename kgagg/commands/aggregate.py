"""``kgagg aggregate``: rank by strategies what `kgagg apply` found."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "aggregate",
        help="rank by strategies what `kgagg apply` found",
        description="Read a file of `kgagg apply`, aggregate with each strategy, and write the "
        "ranks of the targets: a row for each triple, direction and strategy. A tuned strategy is "
        "ranked by the choices that a file of `kgagg tune` has for it.",
        epilog="example: kgagg aggregate test.parquet --strategies max+,noisy-or-top-5 "
        "--tuned tuned.json --ranks ranks.parquet",
    )
    parser.add_argument("firings", type=Path, metavar="FILE.parquet", help="from `kgagg apply`")
    parser.add_argument(
        "--ranks", type=Path, required=True, metavar="FILE.parquet", help="where to write"
    )
    parser.add_argument(
        "--strategies", default="", metavar="A,B,...", help="max, noisy-or-top-5, ..."
    )
    parser.add_argument(
        "--tuned",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.json",
        help="a strategy that was tuned by `kgagg tune`; can be given several times",
    )
    parser.add_argument(
        "--fitted",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.kgagg",
        help="a strategy that was fitted by `kgagg fit`; can be given several times",
    )
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Read, rank, write."""
    from kgagg.aggregation import strategy
    from kgagg.aggregation.fitting import load
    from kgagg.aggregation.ranking import rank_file
    from kgagg.aggregation.tuning import Tuned
    from kgagg.engine.parquet import FiringsFile
    from kgagg.errors import InputError

    names = args.strategies.split(",") if args.strategies else []
    strategies = [strategy(name) for name in dict.fromkeys(names)]
    if args.tuned or args.fitted:
        file = FiringsFile(args.firings)
        strategies += [Tuned.load(path, file.relations) for path in args.tuned]
        strategies += [load(path, file.settings["rules"]) for path in args.fitted]
    if not strategies:
        raise InputError("nothing to rank by, expected --strategies, --tuned or --fitted")
    ranks = rank_file(args.firings, strategies, watch=args.watch, threads=args.threads)
    ranks.write(args.ranks)
    return {"strategies": [one.name for one in strategies]}
