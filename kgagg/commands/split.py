"""``kgagg split``: a graph as train, valid and test."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "split",
        help="split a graph into train, valid and test",
        description="Split all triples of a graph at random, each once. Every entity and relation "
        "of valid and test is in train.",
        epilog="example: kgagg split umls --seed 1 --out umls-again",
    )
    options.add_data(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="where train.txt, valid.txt and test.txt go",
    )
    parser.add_argument(
        "--ratio",
        type=options.ratio,
        default=(0.8, 0.1, 0.1),
        metavar="R,R,R",
        help="the shares of train, valid and test (default: 0.8,0.1,0.1)",
    )
    parser.add_argument("--seed", type=options.count, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--no-leak",
        action="store_true",
        help="keep triples together that give each other away: of one pair of entities, by "
        "inverse, duplicate or symmetric relations",
    )
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Read, split, write."""
    from kgagg.errors import InputError
    from kgagg.graph.graph import SPLITS, Graph
    from kgagg.graph.leakage import leaking
    from kgagg.graph.splitting import split_graph

    if args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        raise InputError(f"{args.out}: is there already, expected a new folder or an empty one")
    graph = split_graph(
        Graph.read(args.data, literals=args.literals),
        args.ratio,
        seed=args.seed,
        no_leak=args.no_leak,
    )
    graph.write(args.out)
    counts = {name: len(graph.split(name)) for name in SPLITS}
    given_away = int(leaking(graph).sum())
    if given_away:
        options.warn(
            f"{given_away:,} triples of test follow from a related relation in train (--no-leak)"
        )
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    options.done(args, f"{parts} triples", args.out)
    return {**counts, "given away": given_away, "digest": graph.digest}
