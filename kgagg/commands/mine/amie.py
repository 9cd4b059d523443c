"""``kgagg mine amie``: AMIE3 over Java."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from kgagg.commands.mine import _common
from kgagg.commands.parser import Parser

PRESETS = ("paper-a", "paper-b", "paper")


def add_parser(miners: Any) -> Parser:
    """Add the parser of this miner."""
    parser: Parser = miners.add_parser(
        "amie",
        help="AMIE3 (Java)",
        epilog="example: kgagg mine amie umls --out amie.txt --preset paper-a",
    )
    _common.add_java(parser, "amie-3.0")
    options = parser.add_mutually_exclusive_group()
    options.add_argument(
        "--preset",
        choices=PRESETS,
        default="paper",
        help="the paper's run with constants, its run with longer rules, or (default) both, merged",
    )
    options.add_argument(
        "--options", type=shlex.split, metavar="'-X ...'", help="AMIE's own options instead"
    )
    return parser


def mine(args: argparse.Namespace) -> _common.Counts:
    """Mine, and print what was found."""
    from kgagg.mining import amie

    configurations = {"options": args.options} if args.options else amie.PRESETS[args.preset]
    return _common.repeat(args, amie.mine, {"configurations": configurations})
