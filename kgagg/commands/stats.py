"""``kgagg stats``: what is in a graph, beside what the paper reports."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "stats",
        help="count entities, relations and triples",
        description="Print a table: entities and relations of the train split, triples of each "
        "split, lines that a split repeats, triples that two splits share, test triples that an "
        "inverse, duplicate or symmetric relation gives away in train, test triples with a name "
        "that train lacks, and whether the paper reports the same.",
        epilog="example: kgagg stats umls nations --json stats.json",
    )
    options.add_data(parser, nargs="+")
    parser.add_argument("--table", type=Path, metavar="FILE.md", help="also write the table here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    parser.add_argument(
        "--picture",
        type=options.picture,
        metavar="FILE.svg|png",
        help="draw the distribution of degrees",
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Count each graph and print the table."""
    from kgagg.data.registry import registry
    from kgagg.graph.graph import Graph
    from kgagg.graph.statistics import statistics
    from kgagg.util.files import writing
    from kgagg.util.text import markdown

    known = registry()
    graphs, counts = {}, {}
    rows: list[list[str | int]] = []
    for data in args.data:
        name = Path(data).resolve().name
        graph = Graph.read(data, literals=args.literals)
        counts[name] = count = statistics(graph)
        title, paper = name, "-"
        if name in known:
            title = known[name].title
            if reported := known[name].paper:
                other = [key for key, value in reported.items() if count[key] != value]
                paper = f"other {', '.join(other)}" if other else "same"
        graphs[title] = graph
        rows.append([title, *count.values(), paper])
    table = markdown(["dataset", *next(iter(counts.values())), "paper"], rows)
    print(table, end="")
    if args.table:
        with writing(args.table) as file:
            file.write(table)
    if args.json:
        options.write_json(args.json, counts)
    if args.picture:
        from kgagg.report.degrees import degrees

        degrees(graphs, args.picture)
    options.done(args, f"{len(rows)} graphs" if len(rows) > 1 else "1 graph", args.table)
