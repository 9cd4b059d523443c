"""``kgagg score``: scores, probabilities and ranks of given triples, and their classification."""

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
        "score",
        help="score given triples, and tell true from false ones",
        description="Score triples, known or not: score, probability (calibrated on valid), and "
        "the filtered rank among all candidates for the head and for the tail. With negatives, "
        "also classify: print accuracy, F1 and the area under the ROC curve.",
        epilog="example: kgagg score umls rules.txt --out scores.tsv",
    )
    options.add_inputs(parser)
    options.add_labels(parser)
    parser.add_argument(
        "--triples",
        type=Path,
        metavar="FILE",
        help="lines of head, relation and tail (default: the test split)",
    )
    parser.add_argument(
        "--negatives", type=Path, metavar="FILE", help="triples that are false: classify both"
    )
    parser.add_argument(
        "--valid-negatives",
        type=Path,
        metavar="FILE",
        help="false triples that give a threshold for each relation, against the valid split "
        "(default: a triple is true if its probability is at least one half)",
    )
    options.add_restriction(parser)
    options.add_strategy(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="default: print, but for triples with negatives"
    )
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="tsv, csv, jsonl or parquet (default: by the ending of FILE, else tsv)",
    )
    options.add_top_x(parser)
    options.add_top_h(parser)
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, calibrate, score, classify, write."""
    from kgagg.errors import InputError
    from kgagg.evaluation.run import ready_strategy
    from kgagg.prediction.answers import read_triples
    from kgagg.prediction.calibration import Calibration, answered
    from kgagg.prediction.scoring import Thresholds, classification, score_triples
    from kgagg.prediction.writers import form_of, write_table

    form = form_of(args.out, "tsv", args.format)
    if args.valid_negatives and not args.negatives:
        raise InputError("--valid-negatives finds thresholds: expected --negatives FILE")
    engine = open_engine(args)
    graph = engine.graph
    triples = read_triples(args.triples, graph) if args.triples else graph.test
    if not len(triples):
        raise InputError(f"{args.triples or args.data}: holds no triple to score")
    negatives, valid_negatives = (
        read_triples(path, graph) if path else None
        for path in (args.negatives, args.valid_negatives)
    )
    applying = options.running(args)
    with args.watch.stage("fit"):
        strategy = ready_strategy(engine, args.strategy, top_h=args.top_h, **applying)
    calibration = None
    if len(graph.valid):
        with args.watch.stage("calibrate"):
            calibration = Calibration.fit(answered(engine, strategy, "valid", **applying))
    del applying["top_x"]
    scoring: dict[str, Any] = {"allowed": restriction(args, graph), **applying}
    with args.watch.stage("score"):
        scored = score_triples(engine, triples, strategy, calibration=calibration, **scoring)
        table = scored.to_pandas(graph)
        found: dict[str, Any] = {"triples": len(triples), "strategy": strategy.name}
        if negatives is not None:
            false = score_triples(engine, negatives, strategy, calibration=calibration, **scoring)
            table = _joined(table, false.to_pandas(graph))
            thresholds = None
            if valid_negatives is not None:
                both = (graph.valid, valid_negatives)
                known = [score_triples(engine, part, strategy, **scoring) for part in both]
                thresholds = Thresholds.fit(*known)
                found["thresholds"] = thresholds.to_json(graph)
            metrics = classification(scored, false, thresholds)
            found = {**metrics, **found, "negatives": len(negatives)}
    if args.out or negatives is None:
        write_table(args.out, table, form)
    if negatives is not None:
        print(" ".join(f"{name} {value:.4f}" for name, value in metrics.items()))
    options.done(args, f"scores of {len(table):,} triples", args.out)
    return found


def _joined(true: Any, false: Any) -> Any:
    """Join the tables of true and false triples, with a column that says which it is."""
    import pandas as pd

    return pd.concat([true.assign(label=1), false.assign(label=0)], ignore_index=True)
