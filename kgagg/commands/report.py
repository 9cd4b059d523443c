"""``kgagg report``: from ranks to numbers, tables, pictures, the page, and what holds of claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands import _options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgagg.report.claims import Claim
    from kgagg.report.tables import Table


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "report", help="tables, pictures, a page and claims from the ranks of a run"
    )
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    run = "run/result.json --statistics stats.json --claims config/claims.yaml"
    for add, name, text, example in (
        (
            _add_result,
            "result",
            "the numbers of one rule set on one dataset",
            "ranks.parquet --rule-set rules.kgagg --dataset umls --rules native --title native "
            "--source mined --out run/result.json",
        ),
        (_add_tables, "tables", "all tables, in all forms", f"{run} --out run/tables"),
        (_add_plots, "plots", "all pictures", "run/result.json --out run/plots"),
        (
            _add_manifest,
            "manifest",
            "the digest of every file, and an RO-Crate",
            "run/result.json --root run --config config.json --lock envs/requirements.lock "
            "--workflow Snakefile",
        ),
        (
            _add_page,
            "page",
            "one page with everything",
            f"{run} --plots run/plots --manifest run/manifest.json --out run/index.html",
        ),
        (_add_verify, "verify", "check claims and digests", f"{run} --manifest run/manifest.json"),
    ):
        add(parts.add_parser(name, help=text, epilog=f"example: kgagg report {name} {example}"))
    return parser


def run(args: argparse.Namespace) -> None:
    """Make the part that was asked for."""
    args.make(args)


# --- result ------------------------------------------------------------------------------------


def _add_result(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ranks", nargs="+", type=Path, metavar="RANKS", help="ranks on test")
    parser.add_argument("--rule-set", type=Path, required=True, metavar="FILE.kgagg", help="rules")
    parser.add_argument("--dataset", required=True, metavar="NAME", help="name of the dataset")
    parser.add_argument("--rules", required=True, metavar="NAME", help="name of the rules")
    parser.add_argument("--title", required=True, metavar="TEXT", help="title of the rules")
    parser.add_argument("--paper", metavar="NAME", help="the paper's rows to stand beside it")
    parser.add_argument("--source", required=True, metavar="KIND", help="mined, pinned or supplied")
    parser.add_argument(
        "--curve",
        nargs=2,
        type=Path,
        metavar=("VALID", "TEST"),
        help="ranks of noisy-or-top-h for several h",
    )
    parser.add_argument("--tuned", type=Path, metavar="FILE", help="what noisy-or-top-h* chose")
    parser.add_argument(
        "--fitted", nargs="*", type=Path, default=[], metavar="FILE", help="of `kgagg fit`"
    )
    parser.add_argument(
        "--resamples", type=_options.positive, default=10_000, metavar="N", help="(10000)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json", help="to write")
    parser.set_defaults(make=_result)


def _result(args: argparse.Namespace) -> None:
    from kgagg.aggregation.fitting import load
    from kgagg.datasets import registry
    from kgagg.evaluation import Ranks
    from kgagg.report.results import count_rules, curve, measure, read_json
    from kgagg.rules import RuleSet

    first, *more = (Ranks.read(path) for path in args.ranks)
    tuned = read_json(args.tuned) if args.tuned else {"relations": {}, "choices": []}
    rules = RuleSet.open(args.rule_set)
    fitted = [load(path, rules.digest) for path in args.fitted]
    known = registry()
    name = known[args.dataset].title if args.dataset in known else args.dataset
    _options.write_json(
        args.out,
        {
            "dataset": args.dataset,
            "rules": args.rules,
            "titles": {"dataset": name, "rules": args.title},
            "paper": args.paper,
            "source": args.source,
            "counts": count_rules(rules),
            **measure(first.joined(*more), args.resamples),
            "curve": curve(*map(Ranks.read, args.curve)) if args.curve else [],
            "chosen": tuned["relations"],
            "choices": tuned["choices"],
            "fits": {one.name: one.report for one in fitted},
        },
    )


# --- what all others read ----------------------------------------------------------------------


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="of `result`")
    parser.add_argument("--statistics", type=Path, required=True, metavar="FILE", help="of `stats`")
    parser.add_argument(
        "--times", nargs="*", type=Path, default=[], metavar="FILE", help="of `time`"
    )
    parser.add_argument("--claims", type=Path, required=True, metavar="FILE", help="the claims")


def _contents(args: argparse.Namespace) -> tuple[list[Any], list[Claim], Mapping[str, Table]]:
    """Read a run; return its results, the claims checked, and its tables."""
    from kgagg.report import contents
    from kgagg.report.claims import check, paper_cells, read_claims
    from kgagg.report.results import cells, read_json

    results = [read_json(path) for path in args.results]
    times = [read_json(path) for path in args.times]
    statistics = read_json(args.statistics)
    claims = read_claims(args.claims)
    paper = paper_cells(claims)
    checked = check(claims, cells(results, statistics, times))
    tables = {
        "results": contents.results_table(results),
        "comparison": contents.comparison_table(results, paper),
        "tests": contents.tests_table(results),
        "datasets": contents.datasets_table(statistics),
        "rules": contents.rules_table(results, paper),
        "runtimes": contents.runtimes_table(results, times, paper),
        "claims": contents.claims_table(checked, results),
    }
    return results, checked, tables


def _add_tables(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="to write")
    parser.set_defaults(make=_tables)


def _tables(args: argparse.Namespace) -> None:
    _, _, tables = _contents(args)
    for name, table in tables.items():
        table.write(args.out, name)


def _add_plots(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="of `result`")
    parser.add_argument(
        "--times", nargs="*", type=Path, default=[], metavar="FILE", help="of `time`"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="to write")
    parser.set_defaults(make=_plots)


def _plots(args: argparse.Namespace) -> None:
    from kgagg.report.plots import draw
    from kgagg.report.results import read_json

    results = [read_json(path) for path in args.results]
    draw(results, [read_json(path) for path in args.times], args.out)


# --- manifest, page, verify --------------------------------------------------------------------


def _add_manifest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the files of the run")
    parser.add_argument("--root", type=Path, required=True, metavar="FOLDER", help="of the run")
    parser.add_argument(
        "--config", type=Path, required=True, metavar="FILE.json", help="of the run"
    )
    parser.add_argument("--lock", type=Path, required=True, metavar="FILE", help="locked packages")
    parser.add_argument(
        "--workflow", type=Path, required=True, metavar="FILE", help="the Snakefile"
    )
    parser.add_argument(
        "--jar",
        action="append",
        default=[],
        metavar="NAME",
        help="a jar that mined; may be repeated",
    )
    parser.set_defaults(make=_manifest)


def _manifest(args: argparse.Namespace) -> None:
    import shutil

    from kgagg.fetching import digest_of
    from kgagg.mining.jars import JARS, in_cache
    from kgagg.report.manifest import crate, make_manifest
    from kgagg.report.results import read_json

    paths = {
        name: in_cache(JARS[name].artifact) if name in JARS else Path(name) for name in args.jar
    }
    jars = {name: f"sha256:{digest_of(path, 'sha256')}" for name, path in paths.items() if path}
    manifest = make_manifest(
        args.root, args.files, config=read_json(args.config), lock=args.lock, jars=jars
    )
    _options.write_json(args.root / "manifest.json", manifest)
    shutil.copyfile(args.workflow, args.root / args.workflow.name)
    _options.write_json(args.root / "ro-crate-metadata.json", crate(manifest, args.workflow.name))


def _add_page(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument("--plots", type=Path, required=True, metavar="FOLDER", help="of `plots`")
    parser.add_argument(
        "--manifest", type=Path, required=True, metavar="FILE", help="of `manifest`"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.html", help="to write")
    parser.set_defaults(make=_page)


def _page(args: argparse.Namespace) -> None:
    from kgagg.files import writing
    from kgagg.report.page import PICTURES, page
    from kgagg.report.results import read_json

    pictures = {
        name: path.read_text(encoding="utf-8")
        for name in PICTURES
        if (path := args.plots / f"{name}.svg").exists()
    }
    text = page(*_contents(args), pictures, read_json(args.manifest))
    with writing(args.out) as file:
        file.write(text)


def _add_verify(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument(
        "--manifest", type=Path, required=True, metavar="FILE", help="of `manifest`"
    )
    parser.add_argument("--lock", type=Path, metavar="FILE", help="locked packages")
    parser.set_defaults(make=_verify)


def _verify(args: argparse.Namespace) -> None:
    from collections import Counter

    from kgagg.errors import Failed
    from kgagg.report.claims import VERDICTS
    from kgagg.report.manifest import differences
    from kgagg.report.results import read_json
    from kgagg.report.tables import number

    _, claims, _ = _contents(args)
    # what does not hold comes last, where it is seen
    for claim in sorted(claims, key=lambda claim: -VERDICTS.index(claim.verdict)):
        ours = "" if claim.ours is None else f": {number(claim.ours, '.4g')}"
        change = "" if claim.difference is None else f" ({number(claim.difference, '+.3g')})"
        print(
            f"{claim.verdict:8}{claim.subject}{ours}{change}, expected {claim.expected} "
            f"[{claim.source}: {claim.text}]"
        )
    counts = Counter(claim.verdict for claim in claims)
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
    changed = differences(read_json(args.manifest), args.manifest.parent, args.lock)
    print("\n".join(changed) or "All files have the digests of the manifest.")
    if counts["FAIL"] or changed:
        raise Failed(
            f"{counts['FAIL']} claims do not hold, {len(changed)} files are not as recorded"
        )
