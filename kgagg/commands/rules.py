"""``kgagg rules``: what is in rule files, and the same rules in another form."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands import options
from kgagg.commands.parser import Parser

if TYPE_CHECKING:
    from kgagg.rules.ruleset import RuleSet


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "rules",
        help="count, check and convert rules",
        description="Read rules of AnyBURL, PyClause or AMIE 3 (plain or compressed; several files "
        "are merged, each rule once), or a binary rule set; report what cannot be used and why.",
        epilog="example: kgagg rules rules.txt --stats --to rules.kgagg",
    )
    parser.add_argument("rules", nargs="+", metavar="RULES", help="rule files")
    parser.add_argument(
        "--to",
        type=Path,
        metavar="FILE",
        help="write the rules: binary if FILE ends in .kgagg, Parquet if in .parquet, else text",
    )
    parser.add_argument(
        "--dialect",
        default="as-read",
        metavar="NAME",
        help="dialect of the text: as-read (default), anyburl, pyclause or amie",
    )
    parser.add_argument(
        "--stats", action="store_true", help="print counts by type and length, and a histogram"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts here")
    parser.add_argument(
        "--reestimate",
        metavar="DATA",
        help="replace the counts of the file by exact ones: what each rule predicts on the train "
        "split of this graph, and how much of it is correct",
    )
    parser.add_argument(
        "--data", metavar="DATA", help="check the names against this graph, and use its numbers"
    )
    parser.add_argument(
        "--semantics",
        metavar="NAME",
        help="weights and thresholds of anyburl or pyclause (default: anyburl without thresholds)",
    )
    parser.add_argument("--pca", action="store_true", help="rank by AMIE's PCA confidence")
    parser.add_argument("--strict", action="store_true", help="stop at the first unusable line")
    return parser


def run(args: argparse.Namespace) -> None:
    """Read, report, convert."""
    import dataclasses

    from kgagg.errors import InputError
    from kgagg.rules.confidence import Confidence
    from kgagg.rules.ruleset import RuleSet
    from kgagg.rules.summary import summary
    from kgagg.rules.writing import write

    confidence = Confidence.preset(args.semantics) if args.semantics else Confidence()
    confidence = dataclasses.replace(confidence, pca=args.pca)
    vocabularies = None
    if args.data and args.reestimate:
        raise InputError("--reestimate DATA takes the names of its graph: expected no --data")
    if data := args.reestimate or args.data:
        from kgagg.graph.graph import Graph

        graph = Graph.read(data)
        vocabularies = graph.entities, graph.relations
    rules = RuleSet.read(
        args.rules, vocabularies, confidence, strict=args.strict, threads=args.threads
    )
    rules.expect_some(data)
    if args.reestimate:
        from kgagg.mining.counting import reestimate

        meaning = args.semantics or "anyburl"
        rules = reestimate(rules, graph, meaning, threads=args.threads, quiet=args.quiet)
    print(summary(rules), end="")
    if args.stats:
        print(_statistics(rules), end="")
    if args.to and (left_out := write(rules, args.to, args.dialect)):
        print(f"{left_out:,} rules left out: {args.dialect} cannot express them")
    if args.json:
        options.write_json(args.json, _numbers(rules))


def _statistics(rules: RuleSet) -> str:
    """Return the table of counts by type and length, and the histogram of the confidence."""
    from kgagg.util.text import markdown

    lengths = _lengths(rules)
    columns = sorted({length for counts in lengths.values() for length in counts})
    rows: list[list[str | int]] = [
        [name, *(counts.get(length, 0) for length in columns), sum(counts.values())]
        for name, counts in lengths.items()
    ]
    table = markdown(["type", *(f"length {length}" for length in columns), "all"], rows)
    return f"\n{table}\n{_histogram(rules)}"


def _lengths(rules: RuleSet) -> dict[str, dict[int, int]]:
    """Count the rules by type and length of the body."""
    import numpy as np

    from kgagg.rules.confidence import TYPES

    result = {}
    for number, name in enumerate(TYPES):
        values, counts = np.unique(rules.length[rules.types == number], return_counts=True)
        if len(values):
            result[name] = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return result


def _histogram(rules: RuleSet, bins: int = 10, width: int = 50) -> str:
    """Draw how the confidence is distributed."""
    import numpy as np

    counts, edges = np.histogram(rules.confidence, bins, (0, 1))
    longest = max(1, counts.max())
    lines = ["confidence"]
    for count, low, high in zip(counts.tolist(), edges, edges[1:], strict=False):
        bar = "█" * -(-count * width // longest)
        lines.append(f"{low:.1f} - {high:.1f} {count:>12,} {bar}".rstrip())
    return "".join(f"{line}\n" for line in lines)


def _numbers(rules: RuleSet) -> dict[str, Any]:
    """Return the counts as JSON-compatible values."""
    import dataclasses

    report = dataclasses.asdict(rules.report)
    return {
        "files": list(rules.sources),
        "rules": rules.counts(),
        "lengths": _lengths(rules),
        **report,
        "digest": rules.digest,
        "settings": rules.settings.to_json(),
    }
