"""``kgagg explain``: why a fact is predicted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.opening import open_engine
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "explain",
        help="why a fact is predicted, and where it ranks",
        description="Print the rules that predict a fact, by descending confidence: confidence "
        "(correct of predicted), share of the score, the rule, and its groundings; the rank of the "
        "fact among all candidates; and which single facts would make it rank first.",
        epilog="example: kgagg explain umls rules.txt steroid affects cell_function",
    )
    options.add_inputs(parser)
    options.add_labels(parser)
    parser.add_argument("head", metavar="HEAD")
    parser.add_argument(
        "relation", metavar="RELATION", help="`?`: list the most likely ones, explain the first"
    )
    parser.add_argument("tail", metavar="TAIL")
    options.add_strategy(parser)
    parser.add_argument(
        "--rules-shown",
        type=options.count,
        default=10,
        metavar="N",
        help="rules to show; 0: all (default: 10)",
    )
    parser.add_argument(
        "--groundings",
        type=options.count,
        default=3,
        metavar="N",
        help="groundings to show for each rule; 0: all (default: 3)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the explanation here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with drawings")
    options.add_top_x(parser)
    options.add_top_h(parser)
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> None:
    """Load, explain, print."""
    from kgagg.evaluation.run import ready_strategy
    from kgagg.explanation.explanation import explain, find_fact
    from kgagg.explanation.page import page, text
    from kgagg.prediction.relations import likely_relations
    from kgagg.util.files import writing

    engine = open_engine(args)
    asked = args.relation == "?"
    relation = engine.graph.relations[0] if asked else args.relation
    fact = find_fact(engine.graph, args.head, relation, args.tail)
    strategy = ready_strategy(engine, args.strategy, top_h=args.top_h, **options.running(args))
    if asked:
        label = engine.graph.label
        found = likely_relations(engine, args.head, args.tail, strategy)
        print("relations:", ", ".join(f"{label(name)} ({score:.3f})" for name, score in found))
        fact = find_fact(engine.graph, args.head, found[0][0], args.tail)
    explanation = explain(engine, fact, strategy, top=args.rules_shown, ways=args.groundings)
    plain = explanation.to_json()
    print(text(plain), end="")
    if args.json:
        options.write_json(args.json, plain)
    if args.html:
        with writing(args.html) as file:
            file.write(page(plain))
    rules = max(one.count for one in explanation.standings)
    options.done(args, f"explained by {rules:,} rules", args.html or args.json)
