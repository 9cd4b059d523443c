"""``kgagg rules``: rules as a table, compared with others, and in another form."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands import options
from kgagg.commands.parser import Parser

if TYPE_CHECKING:
    import numpy as np

    from kgagg.graph.graph import Graph
    from kgagg.rules.ruleset import RuleSet


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "rules",
        help="count, list, compare, check and convert rules",
        description="Read rules of AnyBURL, PyClause or AMIE 3 (plain or compressed; several files "
        "are merged, each rule once), or a binary rule set; report what cannot be used and why. "
        "List those that are selected; with --to, write them.",
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
    _add_selection(parser)
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="OTHER",
        help="count the rules that are only here, only in OTHER, and in both; with --data also the "
        "difference in MRR by --strategy on --split, with a 95 %% interval",
    )
    options.add_strategy(parser)
    parser.add_argument(
        "--split", default="test", choices=("test", "valid"), help="default: %(default)s"
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
    options.add_literals(parser)
    options.add_labels(parser)
    parser.add_argument(
        "--semantics",
        metavar="NAME",
        help="weights and thresholds of anyburl or pyclause (default: anyburl without thresholds)",
    )
    parser.add_argument("--pca", action="store_true", help="rank by AMIE's PCA confidence")
    parser.add_argument("--strict", action="store_true", help="stop at the first unusable line")
    return parser


def _add_selection(parser: Parser) -> None:
    """Add what is listed and written."""
    some = parser.add_argument_group("which rules to list, and to write with --to (default: all)")
    some.add_argument("--relation", metavar="NAME", help="only rules with this head")
    some.add_argument("--type", metavar="NAME", help="cyclic, constant, dangling, zero, general")
    some.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="C",
        help="only rules with at least this confidence",
    )
    some.add_argument(
        "--min-support",
        type=options.count,
        default=0,
        metavar="N",
        help="only rules with at least N correct predictions",
    )
    some.add_argument("--max-length", type=options.count, metavar="N", help="longest body")
    some.add_argument(
        "--drop-redundant",
        action="store_true",
        help="without rules that a more general one with at least the same confidence covers",
    )
    some.add_argument(
        "--sort",
        choices=("confidence", "support", "length"),
        help="list by this, best or shortest first (default: confidence)",
    )
    some.add_argument(
        "--top", type=options.count, metavar="N", help="only the first N; 0: all (listed: 20)"
    )
    some.add_argument(
        "--instances",
        type=options.count,
        default=0,
        metavar="N",
        help="list N facts that each rule predicts on the graph of --data, with groundings",
    )


def run(args: argparse.Namespace) -> None:
    """Read, report, select, list, compare, convert."""
    import dataclasses

    from kgagg.errors import InputError
    from kgagg.rules.confidence import Confidence
    from kgagg.rules.ruleset import RuleSet
    from kgagg.rules.summary import summary
    from kgagg.rules.writing import expect_ending, write

    if args.to:
        expect_ending(args.to)
    if args.instances and not (args.data or args.reestimate):
        raise InputError("--instances are facts of a graph: expected --data DATA")
    confidence = Confidence.preset(args.semantics) if args.semantics else Confidence()
    confidence = dataclasses.replace(confidence, pca=args.pca)
    vocabularies = None
    if args.data and args.reestimate:
        raise InputError("--reestimate DATA takes the names of its graph: expected no --data")
    if data := args.reestimate or args.data:
        from kgagg.graph.graph import Graph

        graph = Graph.read(data, literals=args.literals)
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
    chosen, rows = _selected(rules, args)
    if len(chosen) < len(rules):
        print(f"{len(chosen):,} selected")
    if args.stats:
        print(_statistics(chosen), end="")
    if _listing(args):
        shown = rows if args.top is not None else rows[:_LISTED]
        for line in _listed(chosen, shown, graph if data else None, args):
            print(line)
        if len(shown) < len(rows):
            print(f"... {len(rows) - len(shown):,} more (--top 0 lists all)")
    found = {}
    if args.compare:
        found = _compare(chosen, graph if data else None, args)
        print(_comparison(found), end="")
    if args.to and (left_out := write(chosen, args.to, args.dialect)):
        print(f"{left_out:,} rules left out: {args.dialect} cannot express them")
    if args.json:
        options.write_json(args.json, _numbers(chosen) | found)
    options.done(args, f"{len(chosen):,} rules", args.to)


# how many rules are listed unless told otherwise
_LISTED = 20


def _listing(args: argparse.Namespace) -> bool:
    """Whether rules are listed: those that are selected, unless they are written or compared."""
    if args.top is not None or args.sort or args.instances:
        return True
    chosen = (args.relation, args.type, args.min_confidence, args.min_support, args.max_length)
    return bool(any(chosen) or args.drop_redundant) and not (args.to or args.compare or args.stats)


def _selected(rules: RuleSet, args: argparse.Namespace) -> tuple[RuleSet, np.ndarray]:
    """Return the rules that are selected, and their rows in the order to list them: int64[n]."""
    import numpy as np

    from kgagg.rules.selection import redundant

    chosen = rules
    if args.drop_redundant:
        chosen = chosen[~redundant(chosen)]
    chosen = chosen.filter(
        relation=args.relation,
        type=args.type,
        min_confidence=args.min_confidence,
        min_support=args.min_support,
        max_length=args.max_length,
    )
    rows = np.arange(len(chosen))
    if args.sort == "support":
        rows = np.argsort(-chosen.correct, kind="stable")
    elif args.sort == "length":
        rows = np.argsort(chosen.length, kind="stable")
    if args.top:
        kept = np.sort(rows[: args.top])
        chosen, rows = chosen[kept], np.searchsorted(kept, rows[: args.top])
    return chosen, rows


def _listed(
    rules: RuleSet, rows: np.ndarray, graph: Graph | None, args: argparse.Namespace
) -> Iterator[str]:
    """Yield a line for each rule, and one for each of its instances."""
    import numpy as np

    from kgagg.data.labels import read_labels
    from kgagg.explanation.instances import instances
    from kgagg.rules.dialects import anyburl

    columns = rules.listed(rows)
    labels = read_labels(args.labels) if args.labels else {}
    if labels:
        chosen = rules.rules(rows)
        columns["rule"] = [anyburl.format_rule(rule.labelled(labels)) for rule in chosen]
    width = max(map(len, columns["type"]), default=4)
    yield f"{'confidence':>10} {'correct':>9} {'predicted':>9}  {'type':<{width}}  rule"
    names = ("confidence", "correct", "predicted", "type", "rule")
    for row, (confidence, correct, predicted, kind, text) in zip(
        rows.tolist(), zip(*(columns[name] for name in names), strict=True), strict=True
    ):
        # a rule without statistics has no counts
        counts = (f"{n:,}" if not np.ma.is_masked(n) else "-" for n in (correct, predicted))
        numbers = " ".join(f"{each:>9}" for each in counts)
        yield f"{confidence:>10.4f} {numbers}  {kind:<{width}}  {text}"
        if graph and args.instances:
            meaning = args.semantics or "anyburl"
            for one in instances(
                graph, rules, row, meaning, limit=args.instances, threads=args.threads
            ):
                named = (
                    (graph.entities[h], graph.relations[r], graph.entities[t])
                    for h, r, t in (one.fact, *one.body)
                )
                shown = ([labels.get(name, name) for name in names] for names in named)
                atoms = [f"{relation}({head}, {tail})" for head, relation, tail in shown]
                since = f" since {' and '.join(atoms[1:])}" if one.body else ""
                yield f"    {'in train' if one.known else 'not in train'}: {atoms[0]}{since}"


def _compare(rules: RuleSet, graph: Graph | None, args: argparse.Namespace) -> dict[str, Any]:
    """Count what both rule sets have by type, and evaluate both if there is a graph."""
    import numpy as np

    from kgagg.rules.confidence import TYPES
    from kgagg.rules.ruleset import RuleSet
    from kgagg.rules.selection import common

    vocabularies = (graph.entities, graph.relations) if graph else None
    other = RuleSet.read(
        args.compare, vocabularies, rules.settings, strict=args.strict, threads=args.threads
    )
    other.expect_some(args.compare)
    other, _ = _selected(other, args)
    both = common(rules, other)
    counts = {
        name: np.bincount(part, minlength=len(TYPES)).tolist()
        for name, part in (
            ("only here", rules.types[~both.one]),
            ("only there", other.types[~both.other]),
            ("both", rules.types[both.one]),
        )
    }
    found: dict[str, Any] = {
        "compared": {
            kind: {name: row[number] for name, row in counts.items()}
            for number, kind in enumerate(TYPES)
            if any(row[number] for row in counts.values())
        }
    }
    if graph:
        found |= _difference(graph, [rules, other], args)
    return found


def _difference(graph: Graph, both: Sequence[RuleSet], args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate both rule sets with one strategy; return the difference in MRR with an interval."""
    import dataclasses

    from kgagg.engine.engine import Engine
    from kgagg.evaluation.run import evaluate
    from kgagg.evaluation.significance import compare

    meaning = args.semantics or "anyburl"
    ranks = []
    for name, rules in zip(("here", "there"), both, strict=True):
        engine = Engine.open(graph, rules, meaning, threads=args.threads)
        options_: dict[str, Any] = {"threads": args.threads, "quiet": args.quiet}
        found = evaluate(engine, [args.strategy], args.split, **options_)
        ranks.append(dataclasses.replace(found.ranks, strategies=(name,)))
    row = compare(ranks[0].joined(ranks[1])).to_dict("records")[0]
    names = ("difference", "low", "high", "p")
    return {"mrr": {"strategy": args.strategy} | {name: row[name] for name in names}}


def _comparison(found: Mapping[str, Any]) -> str:
    """Write a comparison for people."""
    from kgagg.util.text import markdown

    columns = ("only here", "only there", "both")
    rows = [
        [kind, *(counts[name] for name in columns)] for kind, counts in found["compared"].items()
    ]
    rows.append(["all", *(sum(row[i] for row in rows) for i in range(1, 4))])
    text = markdown(["type", *columns], rows)
    if mrr := found.get("mrr"):
        text += (
            f"MRR here minus there: {mrr['difference']:+.4f} (95 % interval {mrr['low']:+.4f} to "
            f"{mrr['high']:+.4f}, {mrr['strategy']})\n"
        )
    return text


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
