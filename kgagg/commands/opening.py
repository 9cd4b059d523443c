"""Open what most verbs begin with: a graph and rules, indexed, and which answers are allowed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kgagg.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kgagg.engine.engine import Engine
    from kgagg.graph.graph import Graph


def open_engine(args: argparse.Namespace, graph: Graph | None = None) -> Engine:
    """Read the graph, unless it is given, and the rules; report what cannot be used."""
    from kgagg.engine.ahead import compile_ahead
    from kgagg.engine.engine import Engine
    from kgagg.graph.graph import Graph
    from kgagg.mining.counting import with_missing_counts
    from kgagg.rules.summary import summary

    compile_ahead(args.threads)
    if labels := getattr(args, "labels", None):
        with args.watch.stage("load"):
            graph = (graph or Graph.read(args.data, literals=args.literals)).with_labels(labels)
    engine = Engine.open(
        graph or args.data,
        args.rules,
        args.semantics,
        literals=args.literals,
        pca=args.pca,
        strict=args.strict,
        threads=args.threads,
        watch=args.watch,
    )
    if engine.rules.report.bare and args.semantics != "pyclause":
        with args.watch.stage("count"):
            engine = with_missing_counts(engine, args.threads)
        if not args.quiet:
            counted = f"{engine.rules.report.bare:,} rules came without statistics"
            print(f"{counted}: counted on train", file=sys.stderr)
    engine.graph.report_leaks(args.data, refuse=args.no_leak)
    report = engine.rules.report
    if args.verbose:
        print(summary(engine.rules), end="", file=sys.stderr)
    elif report.unusable and not args.quiet:
        lines = sum(problem.count for problem in report.unusable.values())
        print(f"{lines:,} lines have rules that cannot be used (-v shows why)", file=sys.stderr)
    return engine


def restriction(args: argparse.Namespace, graph: Graph) -> np.ndarray | None:
    """Return which entities may be tails, and which heads: bool[2, entities]; None if all may."""
    from kgagg.prediction.restriction import allowed_entities, read_entities

    def names(path: Path | None, types: str | None, option: str) -> list[str] | None:
        if types is None:
            return read_entities(path, graph) if path else None
        if path or not args.type_relation:
            expected = f"no --{option} beside it" if path else "--type-relation NAME"
            raise InputError(f"--{option}-of-type: expected {expected}")
        return graph.of_type(args.type_relation, *types.split(","))

    heads = names(args.heads, args.heads_of_type, "heads")
    return allowed_entities(graph, heads, names(args.tails, args.tails_of_type, "tails"))
