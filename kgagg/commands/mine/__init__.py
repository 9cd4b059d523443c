"""``kgagg mine``: rules from the train split of a graph, one module for each miner."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from kgagg.commands.parser import Parser

MINERS = ("anyburl", "amie", "native")


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb, with one for each miner."""
    parser: Parser = verbs.add_parser("mine", help="mine rules from a graph")
    miners = parser.add_subparsers(dest="miner", required=True, metavar="MINER")
    for name in MINERS:
        module = importlib.import_module(f"kgagg.commands.mine.{name}")
        part = module.add_parser(miners)
        part.set_defaults(mine=module.mine)
        parser.parts.append(part)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Mine with the chosen miner, as often as requested."""
    with args.watch.stage("mine"):
        return {"rules": args.mine(args)}
