"""``kgagg time``: how long each strategy takes alone, stage by stage."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "time",
        help="time strategies, each alone",
        description="Evaluate the test split by each strategy alone, several times; write median "
        "and range of the seconds of each stage.",
        epilog="example: kgagg time umls rules.txt --strategies max,noisy-or --json times.json",
    )
    parser.add_argument("data", metavar="DATA", help="a folder or a registered dataset")
    parser.add_argument("rules", metavar="RULES", help="a rule file or binary rule set")
    parser.add_argument("--strategies", required=True, metavar="A,B,...", help="what to time")
    parser.add_argument("--repeats", type=options.positive, default=3, metavar="N", help="(3)")
    options.add_top_h(parser)
    options.add_top_x(parser)
    parser.add_argument("--semantics", default="anyburl", metavar="NAME", help="(anyburl)")
    parser.add_argument(
        "--fitted",
        action="append",
        nargs=2,
        default=[],
        type=Path,
        metavar=("FILE.kgagg", "RECORD.json"),
        help="a file of `kgagg fit` and its record, so that the strategy is not fitted again in "
        "every repetition; may be repeated",
    )
    parser.add_argument("--dataset", metavar="NAME", help="name of the data, for the record")
    parser.add_argument("--name", metavar="NAME", help="name of the rules, for the record")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where to write")
    return parser


def run(args: argparse.Namespace) -> None:
    """Time all strategies, print the totals, write everything."""
    from kgagg.report.results import read_json
    from kgagg.report.times import time_strategies
    from kgagg.util.machine import processors

    found = time_strategies(
        args.data,
        args.rules,
        args.strategies.split(","),
        repeats=args.repeats,
        top_h=args.top_h,
        top_x=args.top_x,
        semantics=args.semantics,
        threads=args.threads or processors(),
        fitted={path: read_json(record)["seconds"]["fit"] for path, record in args.fitted},
    )
    for name, stages in found["strategies"].items():
        total = stages["total"]
        print(f"{name}: {total['median']:.2f} s ({total['low']:.2f} - {total['high']:.2f})")
    names = {"dataset": args.dataset or args.data, "rules": args.name or args.rules}
    options.write_json(args.json, names | found)
