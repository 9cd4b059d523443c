"""``kgagg report result``: the numbers of one rule set on one dataset."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(parts: Any) -> Parser:
    """Add the parser of this part."""
    parser: Parser = parts.add_parser(
        "result",
        help="the numbers of one rule set on one dataset",
        epilog="example: kgagg report result ranks.parquet --rule-set rules.kgagg --dataset umls "
        "--rules native --title native --source mined --out run/result.json",
    )
    parser.add_argument("ranks", nargs="+", type=Path, metavar="RANKS", help="ranks on test")
    parser.add_argument("--rule-set", type=Path, required=True, metavar="FILE.kgagg", help="rules")
    parser.add_argument("--dataset", required=True, metavar="NAME", help="name of the dataset")
    parser.add_argument("--rules", required=True, metavar="NAME", help="name of the rules")
    parser.add_argument("--title", required=True, metavar="TEXT", help="title of the rules")
    parser.add_argument("--paper", metavar="NAME", help="the paper's rows to compare with")
    parser.add_argument("--source", required=True, metavar="KIND", help="mined, pinned or supplied")
    parser.add_argument(
        "--curve",
        nargs=2,
        type=Path,
        metavar=("VALID", "TEST"),
        help="ranks of noisy-or-top-h for several h",
    )
    parser.add_argument(
        "--fitted", nargs="*", type=Path, default=[], metavar="FILE", help="of `kgagg fit`"
    )
    parser.add_argument(
        "--resamples", type=options.positive, default=10_000, metavar="N", help="(10000)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json", help="to write")
    return parser


def make(args: argparse.Namespace) -> None:
    """Read ranks, rules and fits; measure; write."""
    from kgagg.data.registry import registry
    from kgagg.engine.firings import Names
    from kgagg.ranking.ranks import Ranks
    from kgagg.report.results import count_rules, curve, measure
    from kgagg.rules.ruleset import RuleSet
    from kgagg.strategies.registry import open_strategy

    first, *more = (Ranks.read(path) for path in args.ranks)
    rules = RuleSet.open(args.rule_set)
    names = Names(rules.entities, rules.relations, rules.digest, len(rules))
    fitted = {one.name: one.report for one in (open_strategy(path, names) for path in args.fitted)}
    tuned = fitted.pop("noisy-or-top-h*", None) or {"relations": {}, "choices": []}
    known = registry()
    name = known[args.dataset].title if args.dataset in known else args.dataset
    options.write_json(
        args.out,
        {
            "dataset": args.dataset,
            "rules": args.rules,
            "titles": {"dataset": name, "rules": args.title},
            "paper": args.paper,
            "source": args.source,
            "counts": count_rules(rules),
            **measure(first.joined(*more), args.resamples),
            "curve": curve(*map(Ranks.read, args.curve)) if args.curve else [],
            "chosen": tuned["relations"],
            "choices": tuned["choices"],
            "fits": fitted,
        },
    )
