"""``kgagg report tables``: all tables, in all formats."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands.parser import Parser
from kgagg.commands.report import _run


def add_parser(parts: Any) -> Parser:
    """Add the parser of this part."""
    parser: Parser = parts.add_parser(
        "tables",
        help="all tables, in all formats",
        epilog="example: kgagg report tables run/result.json --statistics stats.json "
        "--claims config/claims.yaml --out run/tables",
    )
    _run.add_run(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="to write")
    return parser


def make(args: argparse.Namespace) -> None:
    """Read a run; write its tables."""
    _, _, tables = _run.contents(args)
    for name, table in tables.items():
        table.write(args.out, name)
