"""What the parts of the report read of a run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands.parser import Parser

if TYPE_CHECKING:
    from kgagg.report.claims import Claim
    from kgagg.report.tables import Table


def add_run(parser: Parser) -> None:
    """Add the results of a run, its times and statistics, and the claims."""
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="of `result`")
    parser.add_argument("--statistics", type=Path, required=True, metavar="FILE", help="of `stats`")
    parser.add_argument(
        "--times", nargs="*", type=Path, default=[], metavar="FILE", help="of `time`"
    )
    parser.add_argument("--claims", type=Path, required=True, metavar="FILE", help="the claims")


def contents(
    args: argparse.Namespace,
) -> tuple[Sequence[Mapping[str, Any]], list[Claim], dict[str, Table]]:
    """Read a run; return its results, the claims checked, and its tables."""
    from kgagg.report.contents import all_tables
    from kgagg.report.results import read_json

    return all_tables(
        [read_json(path) for path in args.results],
        read_json(args.statistics),
        [read_json(path) for path in args.times],
        args.claims,
    )
