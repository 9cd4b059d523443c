"""``kgagg tune``: choose h for each relation and direction on the valid split."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import _options


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "tune",
        help="choose h for each relation and direction on valid",
        description="Rank the valid split, whose firings `kgagg apply --split valid` wrote, by "
        "noisy-or-top-h for each h, and write which h is best for each relation and direction: "
        "noisy-or-top-h*.",
        epilog="example: kgagg tune valid.parquet --out tuned.json --top-h 1,4,5,all",
    )
    parser.add_argument("firings", type=Path, metavar="FILE.parquet", help="from `kgagg apply`")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.json", help="where to write"
    )
    _options.add_top_h(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Read, rank, choose, write."""
    from kgagg.aggregation.ranking import rank_file
    from kgagg.aggregation.tuning import TOP_H, top_h, tune
    from kgagg.engine.parquet import FiringsFile
    from kgagg.errors import InputError

    split = FiringsFile(args.firings).settings["split"]
    if split != "valid":
        raise InputError(f"{args.firings}: from the {split} split, expected valid")
    choices = top_h(args.top_h or TOP_H)
    ranks = rank_file(args.firings, choices, watch=args.watch, threads=args.threads)
    tune("noisy-or-top-h*", choices, ranks).save(args.out, ranks.relations)
    return {"choices": [one.name for one in choices]}
