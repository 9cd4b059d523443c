"""``kgagg explain``: why a fact is predicted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import _options


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "explain",
        help="why a fact is predicted, and where it ranks",
        description="Print the rules that predict a fact, by descending confidence: confidence "
        "(correct of predicted), its share of the score, the rule, and facts that make it fire; "
        "the rank of the fact among all candidates; and what would bring it to the first place.",
        epilog="example: kgagg explain umls rules.txt steroid affects cell_function",
    )
    _options.add_inputs(parser)
    parser.add_argument("head", metavar="HEAD")
    parser.add_argument("relation", metavar="RELATION")
    parser.add_argument("tail", metavar="TAIL")
    _options.add_strategy(parser)
    parser.add_argument(
        "--rules-shown",
        type=_options.count,
        default=10,
        metavar="N",
        help="0: all (default: 10)",
    )
    parser.add_argument(
        "--groundings",
        type=_options.count,
        default=3,
        metavar="N",
        help="how many to show for a rule; 0: all (default: 3)",
    )
    parser.add_argument(
        "--labels", type=Path, metavar="FILE", help="lines of entity, tab, name to show"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with drawings")
    _options.add_top_x(parser)
    _options.add_top_h(parser)
    _options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> None:
    """Load, explain, print."""
    from kgagg.aggregation.tuning import TOP_H
    from kgagg.evaluating import ready_strategy
    from kgagg.explaining import explain, find_fact, read_labels
    from kgagg.files import writing
    from kgagg.report.explanation import page, text

    engine = _options.open_engine(args)
    fact = find_fact(engine.graph, args.head, args.relation, args.tail)
    labels = read_labels(args.labels, engine.graph.entities) if args.labels else None
    h = args.top_h or TOP_H
    strategy = ready_strategy(engine, args.strategy, h=h, **_options.running(args))
    explanation = explain(engine, fact, strategy, top=args.rules_shown, ways=args.groundings)
    plain = explanation.to_json(labels)
    print(text(plain), end="")
    if args.json:
        _options.write_json(args.json, plain)
    if args.html:
        with writing(args.html) as file:
            file.write(page(plain))
