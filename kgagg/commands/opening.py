"""Open what most verbs begin with: a graph and rules, indexed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from kgagg.errors import InputError

if TYPE_CHECKING:
    from kgagg.engine.engine import Engine


def open_engine(args: argparse.Namespace) -> Engine:
    """Read the graph and the rules, and index them; report what cannot be used."""
    from kgagg.engine.ahead import compile_ahead
    from kgagg.engine.engine import Engine
    from kgagg.rules.summary import summary

    compile_ahead(args.threads)
    engine = Engine.open(
        args.data,
        args.rules,
        args.semantics,
        pca=args.pca,
        strict=args.strict,
        threads=args.threads,
        watch=args.watch,
    )
    if leaks := engine.graph.leaks():
        if args.no_leak:
            raise InputError(f"{args.data}: {leaks}")
        print(f"kgagg: warning: {args.data}: {leaks} (--no-leak refuses)", file=sys.stderr)
    report = engine.rules.report
    if args.verbose:
        print(summary(engine.rules), end="", file=sys.stderr)
    elif report.unusable and not args.quiet:
        lines = sum(problem.count for problem in report.unusable.values())
        print(f"{lines:,} lines have rules that cannot be used (-v shows why)", file=sys.stderr)
    return engine
