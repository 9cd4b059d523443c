"""``kgagg predict``: the best new facts of a graph."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands import options
from kgagg.commands.opening import open_engine, restriction
from kgagg.commands.parser import Parser

if TYPE_CHECKING:
    from kgagg.engine.engine import Engine
    from kgagg.prediction.calibration import Calibration, Reliability
    from kgagg.strategies.base import Strategy


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "predict",
        help="complete the graph: the best new facts",
        description="Ask for all heads and tails of relations, and print the facts with the "
        "highest scores that are in no split: score, probability (calibrated on valid), how many "
        "rules predict the fact, and the best of them.",
        epilog="example: kgagg predict umls rules.txt --relations affects,treats --top 20",
    )
    options.add_inputs(parser)
    options.add_labels(parser)
    parser.add_argument(
        "--relations", metavar="A,B,...", help="predict facts of these relations (default: all)"
    )
    parser.add_argument(
        "--top",
        type=options.count,
        default=1000,
        metavar="N",
        help="how many facts; 0: all (default: %(default)s)",
    )
    parser.add_argument(
        "--min-score", type=float, metavar="S", help="only facts with at least this score"
    )
    options.add_restriction(parser)
    options.add_strategy(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: print")
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="tsv, csv, jsonl or parquet (default: by the ending of FILE, else tsv)",
    )
    parser.add_argument(
        "--plot",
        type=options.picture,
        metavar="FILE.svg|png",
        help="plot the share of correct answers on test against the predicted probability",
    )
    options.add_top_x(parser)
    options.add_top_h(parser)
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, calibrate, predict, write."""
    from kgagg.errors import InputError
    from kgagg.evaluation.run import ready_strategy
    from kgagg.prediction.calibration import Calibration, answered
    from kgagg.prediction.completion import chosen_relations, predict
    from kgagg.prediction.writers import form_of, write_table

    form = form_of(args.out, "tsv", args.format)
    if args.plot:
        # report what is missing before doing the work
        from kgagg.report.reliability import draw
    engine = open_engine(args)
    graph = engine.graph
    relations = chosen_relations(graph, args.relations and args.relations.split(","))
    allowed = restriction(args, graph)
    applying = options.running(args)
    with args.watch.stage("fit"):
        strategy = ready_strategy(engine, args.strategy, top_h=args.top_h, **applying)
    calibration = None
    if args.plot and not len(graph.valid):
        raise InputError("--plot shows the calibration on valid, which is empty")
    if len(graph.valid):
        with args.watch.stage("calibrate"):
            calibration = Calibration.fit(answered(engine, strategy, "valid", **applying))
    curves: dict[str, Reliability] = {}
    if calibration and (args.plot or args.json):
        with args.watch.stage("check"):
            curves = _check(engine, strategy, calibration, applying)
    with args.watch.stage("predict"):
        found = predict(
            engine,
            strategy,
            relations,
            top=args.top,
            min_score=float("-inf") if args.min_score is None else args.min_score,
            calibration=calibration,
            allowed=allowed,
            **applying,
        )
    write_table(args.out, found.to_pandas(), form)
    if args.plot:
        draw(curves, args.plot)
    options.done(args, f"{len(found):,} new facts", args.out)
    return {
        "facts": len(found),
        "strategy": strategy.name,
        "reliability": {name: curve.to_json() for name, curve in curves.items()},
    }


def _check(
    engine: Engine, strategy: Strategy, calibration: Calibration, options: dict[str, Any]
) -> dict[str, Reliability]:
    """Compare probabilities, and scores that are in [0, 1], with test (valid if it is empty)."""
    from kgagg.prediction.calibration import Reliability, answered

    split = "test" if len(engine.graph.test) else "valid"
    counts = answered(engine, strategy, split, **options)
    curves = {"calibrated": Reliability.of(split, calibration(counts.score), counts)}
    if len(counts.score) and counts.score[0] >= 0 and counts.score[-1] <= 1:
        curves["score"] = Reliability.of(split, counts.score, counts)
    return curves
