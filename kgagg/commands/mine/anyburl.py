"""``kgagg mine anyburl``: AnyBURL over Java."""

from __future__ import annotations

import argparse
from typing import Any

from kgagg.commands.mine import _common
from kgagg.commands.parser import Parser


def add_parser(miners: Any) -> Parser:
    """Add the parser of this miner."""
    parser: Parser = miners.add_parser(
        "anyburl",
        help="AnyBURL (Java)",
        epilog="example: kgagg mine anyburl umls --out anyburl.txt --seconds 10",
    )
    _common.add_java(parser, "anyburl-23-1")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds", type=int, default=1000, metavar="S", help="how long to mine (1000)"
    )
    length.add_argument(
        "--snapshots",
        type=_numbers,
        metavar="S,S,...",
        help="store the rules after these seconds; the last is --out, the others STEM-S",
    )
    parser.add_argument(
        "--max-length-cyclic",
        type=int,
        default=3,
        metavar="N",
        help="longest body of cyclic rules (3)",
    )
    parser.add_argument(
        "-D",
        dest="settings",
        type=_setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a further setting of AnyBURL; may be repeated",
    )
    return parser


def mine(args: argparse.Namespace) -> _common.Counts:
    """Mine, and print what was found."""
    from kgagg.mining import anyburl

    options = {
        "snapshots": args.snapshots or [args.seconds],
        "max_length_cyclic": args.max_length_cyclic,
        "settings": dict(args.settings),
    }
    return _common.repeat(args, anyburl.mine, options)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _setting(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text}: expected KEY=VALUE")
    return key.strip(), value.strip()
