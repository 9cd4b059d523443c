"""``kgagg mine native``: the miner of this package."""

from __future__ import annotations

import argparse
from typing import Any

from kgagg.commands.mine import _common
from kgagg.commands.parser import Parser


def add_parser(miners: Any) -> Parser:
    """Add the parser of this miner."""
    parser: Parser = miners.add_parser(
        "native",
        help="kgagg's own miner (no Java)",
        epilog="example: kgagg mine native umls --out rules.txt --max-length-cyclic 2",
    )
    _common.add_files(parser)
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="stop after this time, and keep the rules found so far",
    )
    parser.add_argument(
        "--max-length-cyclic",
        type=int,
        default=3,
        metavar="N",
        help="longest body of cyclic rules (3)",
    )
    parser.add_argument(
        "--rules",
        type=_limit,
        default=2_000_000,
        metavar="N",
        help="keep at most N rules, those with the most correct predictions (2000000; 0: all)",
    )
    parser.add_argument(
        "--bodies",
        type=_limit,
        default=10_000,
        metavar="N",
        help="count at most N cyclic bodies of length 3, best first, and a sixth of that for each "
        "further step (10000; 0: all)",
    )
    return parser


def mine(args: argparse.Namespace) -> _common.Counts:
    """Mine, and print what was found."""
    from kgagg.mining.native import miner as native
    from kgagg.mining.native.cyclic import Effort

    record = native.mine(
        args.data,
        args.out,
        literals=args.literals,
        no_leak=args.no_leak,
        max_length_cyclic=args.max_length_cyclic,
        rules=args.rules,
        effort=Effort(bodies=args.bodies),
        seconds=args.seconds,
        threads=args.threads,
        quiet=args.quiet,
    )
    _common.tell(args.out, record)
    return {str(args.out): record["rules"]}


def _limit(text: str) -> int | None:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text}: expected 0 or more")
    return number or None
