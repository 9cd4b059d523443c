"""``kgagg fit``: a strategy, fitted on train and valid."""

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
        "fit",
        help="fit a strategy on train and valid",
        description="Apply rules to the valid split, fit a strategy to what they predict, and "
        "write the fitted strategy. The test split is not used, and need not be there. Long fits "
        "(sparse) save their state beside the output, and resume from it after an interruption.",
        epilog="example: kgagg fit umls rules.txt --strategy learned --out learned.kgagg",
    )
    options.add_inputs(parser)
    parser.add_argument(
        "--strategy",
        required=True,
        metavar="NAME",
        help="noisy-or-top-h*, tuned, learned, factors, safran or sparse",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.kgagg", help="where to write"
    )
    options.add_scores(parser, "one more feature of learned, which is then learned+scores")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    options.add_top_x(parser)
    options.add_top_h(parser)
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, fit, write."""
    from kgagg.errors import InputError
    from kgagg.evaluation.run import ready_strategy
    from kgagg.strategies.learned import with_scores
    from kgagg.strategies.registry import strategy

    if not strategy(args.strategy).needs:
        raise InputError(f"{args.strategy}: has nothing to fit; use it by its name")
    if args.scores and args.strategy != "learned":
        raise InputError(f"--scores: {args.strategy} does not use scores, expected learned")
    engine = open_engine(args)
    wanted = with_scores(args.scores, engine.graph, args.top_h) if args.scores else args.strategy
    state = args.out.with_name(f"{args.out.name}.state")
    with args.watch.stage("fit"):
        fitted = ready_strategy(
            engine,
            wanted,
            top_h=args.top_h,
            seed=args.seed,
            state=state,
            **options.running(args),
        )
    fitted.save(args.out, engine.names)
    state.unlink(missing_ok=True)
    options.done(args, f"{fitted.name}, fitted on {len(engine.graph.valid):,} triples", args.out)
    return {"report": fitted.report}
