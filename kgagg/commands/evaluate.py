"""``kgagg evaluate``: apply rules to a split and evaluate aggregation strategies."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands import options
from kgagg.commands.opening import open_engine
from kgagg.commands.parser import Parser

if TYPE_CHECKING:
    import pandas as pd

    from kgagg.engine.engine import Engine
    from kgagg.evaluation.run import Evaluation
    from kgagg.strategies.base import Strategy


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "evaluate",
        help="apply rules, aggregate with every strategy, evaluate",
        description="Apply rules once to all queries of a split, aggregate with each strategy, and "
        "print filtered hits@k and MRR, the share of tied targets, and the bracket in which the "
        "MRR lies however ties are broken.",
        epilog="example: kgagg evaluate umls rules.txt --strategies max,max+,noisy-or-top-5",
    )
    options.add_inputs(parser)
    parser.add_argument(
        "--split",
        default="test",
        type=_split,
        metavar="test|valid|R,R,R",
        help="default: %(default)s; shares such as 0.8,0.1,0.1: split a graph that is not split, "
        "as `kgagg split` does, and evaluate on its test; for rules that were not mined from all "
        "of it",
    )
    parser.add_argument(
        "--strategies",
        metavar="A,B,...",
        help="max, max+, noisy-or, noisy-or-top-5 (any number), mean, log-odds; fitted on valid: "
        "noisy-or-top-h*, tuned, safran, sparse, factors, learned; FILE.kgagg: a strategy that "
        "`kgagg fit` wrote; all: every strategy (default: the paper's)",
    )
    options.add_scores(parser, "adds a row learned+scores, learned with one more feature")
    options.add_top_x(parser)
    options.add_top_h(parser)
    parser.add_argument(
        "--ties",
        default="expected",
        metavar="NAME",
        help="expected (default, the mean over random orders), random, realistic, optimistic, "
        "pessimistic, frequency (PyClause's order) or anyburl (AnyBURL's order)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="for random ties and splits (default: 0)"
    )
    parser.add_argument(
        "--intervals", action="store_true", help="add 95 %% bootstrap intervals of the MRR"
    )
    parser.add_argument(
        "--protocols",
        action="store_true",
        help="add the MRR under other conventions of the literature: ties, unseen entities, "
        "filters, cuts",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    parser.add_argument(
        "--ranks",
        type=Path,
        metavar="FILE.parquet",
        help="write the ranks of each triple, direction and strategy here",
    )
    options.add_meaning(parser)
    return parser


def _split(text: str) -> str | tuple[float, ...]:
    """Read a split, or the shares with which to make one."""
    if text in ("test", "valid"):
        return text
    if "," not in text:
        raise argparse.ArgumentTypeError(f"{text}: expected test, valid, or shares")
    return options.ratio(text)


def _open_split(args: argparse.Namespace) -> Engine:
    """Read the graph, split it, and open the rules for it."""
    from kgagg.errors import InputError
    from kgagg.graph.graph import Graph
    from kgagg.graph.splitting import split_graph

    graph = Graph.read(args.data, literals=args.literals)
    if len(graph.valid) or len(graph.test):
        raise InputError(f"{args.data}: is split already, expected --split test or valid")
    options.warn(
        "rules that were mined from all of the graph know its test triples: mine from the train "
        "split that `kgagg split` writes"
    )
    return open_engine(args, split_graph(graph, args.split, seed=args.seed))


def run(args: argparse.Namespace) -> None:
    """Load, apply, evaluate, print."""
    from kgagg import __version__
    from kgagg.evaluation.run import evaluate
    from kgagg.strategies.learned import with_scores
    from kgagg.strategies.registry import PAPER
    from kgagg.util.timing import peak_memory

    named = isinstance(args.split, str)
    engine = open_engine(args) if named else _open_split(args)
    split = args.split if named else "test"
    wanted: list[str | Strategy] = [*(args.strategies.split(",") if args.strategies else PAPER)]
    if args.scores:
        wanted.append(with_scores(args.scores, engine.graph, args.top_h))
    evaluation = evaluate(
        engine,
        wanted,
        split,
        top_h=args.top_h,
        ties=args.ties,
        seed=args.seed,
        watch=args.watch,
        **options.running(args),
    )
    print(_table(evaluation, args.intervals), end="")
    protocols = None
    if args.protocols:
        from kgagg.evaluation.protocols import compare_protocols

        protocols = compare_protocols(engine, evaluation.strategies, split, **options.running(args))
        print(f"\n{_protocols(protocols)}", end="")
    if args.ranks:
        evaluation.ranks.write(args.ranks)
    if args.json:
        graph, rules = engine.graph, engine.rules
        options.write_json(
            args.json,
            {
                "strategies": evaluation.to_json(args.intervals),
                **({} if protocols is None else {"protocols": protocols.to_dict("records")}),
                "seconds": options.seconds(args),
                "peak_rss_mb": round(peak_memory(), 1),
                "rules": rules.counts(),
                "queries": 2 * len(evaluation.ranks.triples),
                "settings": {
                    "data": args.data,
                    "rules": args.rules,
                    "split": args.split,
                    "scores": args.scores and str(args.scores),
                    "top_x": args.top_x,
                    "top_h": args.top_h,
                    "ties": args.ties,
                    "seed": args.seed,
                    "semantics": args.semantics,
                    "pca": args.pca,
                    "threads": args.threads,
                },
                "digests": {"data": graph.digest, "rules": rules.digest},
                "version": __version__,
            },
        )
    count = len(evaluation.ranks.triples)
    options.done(args, f"{len(evaluation.strategies)} strategies on {count:,} triples of {split}")


def _table(evaluation: Evaluation, with_intervals: bool) -> str:
    """Write the table for people."""
    from kgagg.util.text import markdown

    header = ["strategy", "hits@1", "hits@3", "hits@10", "MRR", "tied", "MRR bracket"]
    table = evaluation.table()
    rows = [
        [
            str(row.Index),
            *(f"{value:.4f}" for value in (row[2], row[3], row[4], row[1])),
            f"{row[5]:.1%}",
            f"{row[6]:.4f} - {row[7]:.4f}",
        ]
        for row in table.itertuples()
    ]
    if with_intervals:
        header.append("95 % interval")
        for cells, row in zip(rows, evaluation.intervals().itertuples(), strict=True):
            cells.append(f"{row.low:.4f} - {row.high:.4f}")
    return markdown(header, rows)


def _protocols(table: pd.DataFrame) -> str:
    """Write the MRR under each protocol for people."""
    from kgagg.evaluation.protocols import PROTOCOLS
    from kgagg.util.text import markdown

    strategies = list(dict.fromkeys(table["strategy"]))
    mrr = table.pivot(index="protocol", columns="strategy", values="mrr")
    queries = table.groupby("protocol")["queries"].first()
    header = ["protocol", *strategies, "queries", "what it is"]
    rows = [
        [name, *(f"{mrr.loc[name, one]:.4f}" for one in strategies), str(queries[name]), text]
        for name, text in PROTOCOLS.items()
    ]
    return markdown(header, rows)
