"""``kgagg report plots``: all plots."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands.parser import Parser


def add_parser(parts: Any) -> Parser:
    """Add the parser of this part."""
    parser: Parser = parts.add_parser(
        "plots",
        help="all plots",
        epilog="example: kgagg report plots run/result.json --out run/plots",
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="of `result`")
    parser.add_argument(
        "--times", nargs="*", type=Path, default=[], metavar="FILE", help="of `time`"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="to write")
    return parser


def make(args: argparse.Namespace) -> None:
    """Read a run; draw its plots."""
    from kgagg.report.plots import draw
    from kgagg.report.results import read_json

    results = [read_json(path) for path in args.results]
    draw(results, [read_json(path) for path in args.times], args.out)
