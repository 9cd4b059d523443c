"""``kgagg fit``: a strategy with parameters, fitted on train and valid."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import _options


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "fit",
        help="fit a strategy on train and valid",
        description="Apply rules to the valid split, fit a strategy to what they predict, and "
        "write what was found. Nothing of test is used: the folder need not have it. What takes "
        "long (sparse) keeps its state beside the output, and goes on from it after a stop.",
        epilog="example: kgagg fit umls rules.txt --strategy learned --out learned.kgagg",
    )
    _options.add_inputs(parser)
    parser.add_argument("--strategy", required=True, metavar="NAME", help="learned, safran, sparse")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.kgagg", help="where to write"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    _options.add_top_x(parser)
    _options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, fit, write."""
    from kgagg.aggregation.fitting import fit

    engine = _options.open_engine(args)
    options = {
        name: getattr(args, name) for name in ("top_x", "seed", "threads", "memory", "quiet")
    }
    state = args.out.with_name(f"{args.out.name}.state")
    with args.watch.stage("fit"):
        fitted = fit(args.strategy, engine, state=state, **options)
    fitted.save(args.out, engine.rules)
    state.unlink(missing_ok=True)
    return {"report": fitted.report}
