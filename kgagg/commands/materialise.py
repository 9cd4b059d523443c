"""``kgagg materialise``: all new facts that rules predict."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "materialise",
        help="all new facts that rules predict",
        description="Print or write every fact that rules predict and no split has: how many rules "
        "predict it, the best of them, and its confidence. Bounds on the search do not count. "
        "Facts are written as they are found, by relation, head and tail.",
        epilog="example: kgagg materialise umls rules.txt --min-confidence 0.8 --out facts.tsv",
    )
    options.add_inputs(parser)
    options.add_labels(parser)
    parser.add_argument(
        "--relations", metavar="A,B,...", help="facts of these relations (default: all)"
    )
    parser.add_argument(
        "--min-confidence", type=float, default=0.0, metavar="C", help="only by rules from here on"
    )
    parser.add_argument(
        "--min-support",
        type=options.count,
        default=0,
        metavar="N",
        help="only by rules with at least N correct predictions",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: print")
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="tsv, csv, jsonl or parquet (default: by the ending of FILE, else tsv)",
    )
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, apply, write as it comes."""
    from kgagg.commands.opening import open_engine
    from kgagg.prediction.completion import chosen_relations
    from kgagg.prediction.materialising import materialise
    from kgagg.prediction.writers import form_of, table_writer

    form = form_of(args.out, "tsv", args.format)
    engine = open_engine(args)
    graph = engine.graph
    rules = engine.rules.filter(min_confidence=args.min_confidence, min_support=args.min_support)
    relations = chosen_relations(graph, args.relations and args.relations.split(","))
    counts: dict[str, int] = {}
    applying: dict[str, Any] = {
        name: getattr(args, name) for name in ("threads", "memory", "quiet")
    }
    with args.watch.stage("materialise"), table_writer(args.out, form) as write:
        for table in materialise(graph, rules, relations, args.semantics, **applying):
            write(table)
            for name, count in table["relation"].value_counts().items():
                counts[str(name)] = counts.get(str(name), 0) + int(count)
    options.done(args, f"{sum(counts.values()):,} new facts by {len(rules):,} rules", args.out)
    return {"facts": sum(counts.values()), "relations": counts, "rules": len(rules)}
