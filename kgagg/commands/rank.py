"""``kgagg rank``: the best answers to queries."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.opening import open_engine, restriction
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "rank",
        help="the best answers to queries",
        description="Apply rules to queries for tails, heads or relations, and print or write the "
        "best answers by a strategy. The facts of all splits are filtered.",
        epilog="example: kgagg rank umls rules.txt --relation affects --out answers.tsv",
    )
    options.add_inputs(parser)
    options.add_labels(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: print")
    options.add_strategy(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--queries",
        type=Path,
        metavar="FILE",
        help="lines `head relation ?` or `? relation tail`, or triples, which stand for both; or "
        "`head ? tail`, which asks for relations; separated by tabs or spaces",
    )
    which.add_argument(
        "--relation",
        metavar="NAME",
        help="ask for the missing facts of this relation: the tails of all its heads in train",
    )
    which.add_argument(
        "--split",
        default="test",
        choices=("test", "valid", "train"),
        help="ask for the heads and tails of its triples (default: %(default)s)",
    )
    parser.add_argument(
        "--ask",
        default="tails",
        choices=("tails", "heads", "both"),
        help="with --relation: the tails of its heads, the heads of its tails, or both (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--top-k",
        type=options.count,
        default=100,
        metavar="N",
        help="answers to a query; 0: all (default: 100)",
    )
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="anyburl (heads and tails of triples, as AnyBURL and PyClause write them), tsv, csv, "
        "jsonl or parquet (default: by the ending of FILE, else anyburl for files of triples, tsv "
        "for other queries and for what is printed)",
    )
    parser.add_argument("--show-known", action="store_true", help="do not filter known facts")
    options.add_restriction(parser)
    options.add_top_x(parser)
    options.add_top_h(parser)
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, answer, write."""
    from kgagg.engine.queries import MISSING, Queries
    from kgagg.errors import InputError
    from kgagg.evaluation.run import ready_strategy
    from kgagg.prediction.answers import answer, missing, rank_triples, read_queries
    from kgagg.prediction.rankings import write_rankings
    from kgagg.prediction.relations import answer_patterns
    from kgagg.prediction.writers import form_of, write_answers

    form = form_of(args.out, "anyburl", args.format)
    engine = open_engine(args)
    graph = engine.graph
    allowed = restriction(args, graph)
    if args.queries:
        triples = read_queries(args.queries, graph)
    elif args.relation:
        triples = missing(graph, args.relation, args.ask, allowed)
    else:
        triples = graph.split(args.split)
    whole = not (triples == MISSING).any()
    if form == "anyburl" and not (args.format or (args.out and whole and not args.show_known)):
        form = "tsv"
    applying = options.running(args)
    with args.watch.stage("fit"):
        strategy = ready_strategy(engine, args.strategy, top_h=args.top_h, **applying)
    applying |= {"top_k": args.top_k, "allowed": allowed}
    if form == "anyburl" and not whole:
        raise InputError("format anyburl lists heads and tails: expected triples without `?`")
    if form == "anyburl" and args.show_known:
        raise InputError("format anyburl filters known facts: expected no --show-known")
    with args.watch.stage("answer"):
        if form == "anyburl":
            rankings = rank_triples(engine, triples, strategy, **applying)
            write_rankings(args.out, rankings, graph.entities, graph.relations)
        else:
            applying["show_known"] = args.show_known
            if args.queries or args.relation:
                answers = answer_patterns(engine, triples, strategy, **applying)
            else:
                answers = answer(engine, Queries.from_triples(triples), strategy, **applying)
            write_answers(args.out, answers, graph, form)
    options.done(args, f"answers to {len(triples):,} lines of queries", args.out)
    return {"queries": len(triples), "strategy": strategy.name}
