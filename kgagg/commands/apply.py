"""``kgagg apply``: the candidates of the queries of a split, and the rules that predict them."""

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
        "apply",
        help="apply rules, and write what they predict",
        description="Apply rules to all queries of a split, and write a row for each query and "
        "candidate: the best rules that predict it, and the number and summed weight of all rules. "
        "`kgagg aggregate` ranks from this file, as often as you like.",
        epilog="example: kgagg apply umls rules.txt --split valid --out valid.parquet",
    )
    options.add_inputs(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.parquet", help="where to write"
    )
    parser.add_argument(
        "--split", default="test", choices=("test", "valid"), help="default: %(default)s"
    )
    options.add_top_x(parser)
    parser.add_argument(
        "--best",
        type=options.count,
        default=10,
        metavar="N",
        help="rules to keep for each candidate; 0: all (default: 10)",
    )
    parser.add_argument(
        "--part",
        type=_part,
        default=(1, 1),
        metavar="I/N",
        help="only the I-th of N parts of the queries (from 1)",
    )
    options.add_meaning(parser)
    return parser


def _part(text: str) -> tuple[int, int]:
    number, slash, parts = text.partition("/")
    if not slash or not 1 <= int(number) <= int(parts):
        raise argparse.ArgumentTypeError(f"{text}: expected a part I/N, such as 1/4")
    return int(number), int(parts)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, apply, write."""
    from kgagg.engine.files import write_firings
    from kgagg.engine.queries import Queries
    from kgagg.graph.known import known_before

    engine = open_engine(args)
    graph = engine.graph
    queries = Queries.from_triples(graph.split(args.split))
    number, parts = args.part
    start, stop = ((number - i) * len(queries) // parts for i in (1, 0))
    chunks = engine.apply(
        queries.part(start, stop),
        known_before(graph, args.split),
        best=args.best,
        **options.running(args),
    )
    settings = {
        "split": args.split,
        "top_x": args.top_x,
        "best": args.best,
        "semantics": args.semantics,
        "data": graph.digest,
        "rules": engine.rules.digest,
        "part": [start, len(queries)],
    }
    with args.watch.stage("apply"):
        write_firings(args.out, chunks, graph.entities, graph.relations, settings)
    options.done(args, f"candidates of {stop - start:,} queries", args.out)
    return {"queries": stop - start}
