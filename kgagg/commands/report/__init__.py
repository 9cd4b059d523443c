"""``kgagg report``: from ranks to numbers, tables, plots, the page, and what holds of claims."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from kgagg.commands.parser import Parser

PARTS = ("result", "tables", "plots", "manifest", "page", "verify")


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb, with one for each part of the report."""
    parser: Parser = verbs.add_parser(
        "report", help="tables, plots, a page and claims from the ranks of a run"
    )
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    for name in PARTS:
        module = importlib.import_module(f"kgagg.commands.report.{name}")
        part = module.add_parser(parts)
        part.set_defaults(make=module.make)
        parser.parts.append(part)
    return parser


def run(args: argparse.Namespace) -> None:
    """Make the requested part."""
    args.make(args)
