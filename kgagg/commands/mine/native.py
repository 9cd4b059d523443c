"""``kgagg mine native``: the miner of this package."""

from __future__ import annotations

import argparse
from typing import Any

from kgagg.commands import options
from kgagg.commands.mine import _common
from kgagg.commands.parser import Parser


def add_parser(miners: Any) -> Parser:
    """Add the parser of this miner."""
    parser: Parser = miners.add_parser(
        "native",
        help="kgagg's own miner (no Java)",
        epilog="example: kgagg mine native umls --out rules.txt",
    )
    _common.add_files(parser)
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="plan for S seconds, and stop then; without it a fixed amount of work is done, about "
        "120 s on two processors, so that every machine finds the same rules",
    )
    parser.add_argument(
        "--max-length-cyclic",
        type=int,
        metavar="N",
        help="longest body of cyclic rules (default: chosen by what longer ones add)",
    )
    parser.add_argument(
        "--min-support",
        type=options.positive,
        default=2,
        metavar="N",
        help="keep rules with at least N correct predictions (2)",
    )
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=1e-4,
        metavar="C",
        help="keep rules of which at least this part of the predictions is correct (0.0001)",
    )
    return parser


def mine(args: argparse.Namespace) -> _common.Counts:
    """Mine, and print what was found."""
    from kgagg.mining.native import miner as native
    from kgagg.mining.native.found import Thresholds

    record = native.mine(
        args.data,
        args.out,
        literals=args.literals,
        no_leak=args.no_leak,
        max_length_cyclic=args.max_length_cyclic,
        thresholds=Thresholds(args.min_support, args.min_confidence),
        seconds=args.seconds,
        threads=args.threads,
        quiet=args.quiet,
    )
    _common.tell(args.out, record)
    return {str(args.out): record["rules"]}
