"""The tables of a run: from results, times and claims to `Table`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from kgagg.data.registry import registry
from kgagg.report.claims import VERDICTS, Cells, Claim, check, paper_cells, read_claims
from kgagg.report.reproduction import fingerprints
from kgagg.report.results import STAGES, Result, cells, ordered, title
from kgagg.report.tables import Table
from kgagg.util.text import DASH, MINUS, Value

SHOWN = (("hits@1", "h@1"), ("hits@10", "h@10"), ("mrr", "MRR"))


def all_tables(
    results: Sequence[Result],
    statistics: Mapping[str, Mapping[str, int]],
    times: Sequence[Mapping[str, Any]],
    claims: str | os.PathLike[str],
) -> tuple[Sequence[Result], list[Claim], dict[str, Table]]:
    """Check the claims of a file and lay out all tables of a run.

    Parameters
    ----------
    results, statistics, times
        See `kgagg.report.results`.
    claims : path
        The file of claims.

    Returns
    -------
    results : sequence of results
        As given.
    claims : list of Claim
        Checked.
    tables : dict of str to Table
    """
    claimed = read_claims(claims)
    paper = paper_cells(claimed)
    checked = check(claimed, cells(results, statistics, times))
    tables = {
        "results": results_table(results, paper),
        "comparison": comparison_table(results, paper),
        "tests": tests_table(results),
        "datasets": datasets_table(statistics),
        "rules": rules_table(results, paper),
        "runtimes": runtimes_table(results, times, paper),
        "claims": claims_table(checked, results),
    }
    return results, checked, {name: table.compact() for name, table in tables.items()}


def fingerprints_of(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Return what another run of `results` can be compared by."""
    return fingerprints(results, results_table(results, {}))


def results_table(results: Sequence[Result], paper: Cells) -> Table:
    """Lay out the metrics as the paper does: strategies down, datasets across."""
    datasets = _distinct(results, "dataset")
    rules = _distinct(results, "rules")
    found = {(one["rules"], one["dataset"]): one for one in results}
    shown = (*SHOWN, ("paper", "paper"))
    columns = [("rules", ""), ("strategy", "")]
    columns += [(short, ".3f") for _ in datasets for _, short in shown]
    groups = ["", "", *(name for name in datasets.values() for _ in shown)]
    rows: list[list[Value]] = []
    best = set()
    for key, name in rules.items():
        first = len(rows)
        for strategy in ordered([one for one in results if one["rules"] == key]):
            row: list[Value] = [name, title(strategy)]
            for dataset in datasets:
                one = found.get((key, dataset), {"strategies": {}, "paper": ""})
                values = one["strategies"].get(strategy)
                row += [values[metric]["value"] if values else None for metric, _ in SHOWN]
                row.append(paper.get((one["paper"] or "", dataset, strategy, "mrr")))
            rows.append(row)
        for column in range(2, len(columns)):
            values = [row[column] for row in rows[first:] if row[column] is not None]
            if columns[column][0] != "paper" and len(values) > 1:
                numbers = [round(float(value), 3) for value in values if value is not None]
                best |= {
                    (i, column)
                    for i, row in enumerate(rows)
                    if i >= first
                    and row[column] is not None
                    and round(float(row[column] or 0), 3) == max(numbers)
                }
    return Table(
        "Filtered hits@1, hits@10 and MRR on test, both directions; expected values under ties. "
        "The best of a column is bold; paper: the MRR that the paper has.",
        columns,
        rows,
        groups,
        best,
    )


def comparison_table(results: Sequence[Result], paper: Cells) -> Table:
    """Put each number beside the paper's, with the difference and the interval."""
    columns = [("dataset", ""), ("rules", ""), ("strategy", "")]
    groups = [""] * len(columns)
    for _, short in SHOWN:
        columns += [("value", ".4f"), ("95 %", ""), ("paper", ".3f"), ("±", "+.3f")]
        groups += [short] * 4
    columns += [("tied", ".1%"), ("MRR bracket", "")]
    groups += [""] * 2
    rows: list[list[Value]] = []
    for one in results:
        for strategy, values in one["strategies"].items():
            row: list[Value] = [one["titles"]["dataset"], one["titles"]["rules"], title(strategy)]
            for metric, _ in SHOWN:
                value, reported = values[metric], None
                if one["paper"]:
                    reported = paper.get((one["paper"], one["dataset"], strategy, metric))
                difference = None if reported is None else value["value"] - reported
                interval = f"{value['low']:.3f}{DASH}{value['high']:.3f}"
                row += [value["value"], interval, reported, difference]
            mrr = values["mrr"]
            row += [values["tied"], f"{mrr['pessimistic']:.3f}{DASH}{mrr['optimistic']:.3f}"]
            rows.append(row)
    return Table(
        "Every number beside the paper's; ±: ours minus the paper's. 95 %: bootstrap over test "
        "triples. Tied: share of "
        "queries whose target shares its score with another candidate; bracket: the MRR if ties "
        "were always broken against or for the target.",
        columns,
        rows,
        groups,
    )


def tests_table(results: Sequence[Result]) -> Table:
    """List the paired tests between strategies."""
    columns = [("dataset", ""), ("rules", ""), ("strategy", ""), ("against", "")]
    columns += [("MRR difference", "+.4f"), ("95 % interval", ""), ("p", ".4f"), ("Holm", ".4f")]
    rows: list[list[Value]] = [
        [
            one["titles"]["dataset"],
            one["titles"]["rules"],
            title(pair["first"]),
            title(pair["second"]),
            pair["difference"],
            f"{pair['low']:+.4f} {DASH} {pair['high']:+.4f}".replace("-", MINUS),
            pair["p"],
            pair["holm"],
        ]
        for one in results
        for pair in one["pairs"]
    ]
    return Table("Paired tests between strategies: permutations over test triples.", columns, rows)


def datasets_table(statistics: Mapping[str, Mapping[str, int]]) -> Table:
    """Put what was counted in each dataset beside what the paper reports."""
    known = registry()
    keys = list(next(iter(statistics.values())))
    rows: list[list[Value]] = []
    for name, counts in statistics.items():
        entry = known.get(name)
        paper = entry.paper if entry else {}
        other = [key for key, value in paper.items() if counts[key] != value]
        verdict = (f"other {', '.join(other)}" if other else "same") if paper else None
        rows.append([entry.title if entry else name, *counts.values(), verdict])
    columns = [("dataset", ""), *((key, ",d") for key in keys), ("paper", "")]
    return Table("Datasets, counted, and whether the paper reports the same.", columns, rows)


def rules_table(results: Sequence[Result], paper: Cells) -> Table:
    """Count the rules by type, beside the paper's number."""
    types = list(
        dict.fromkeys(key for one in results for key in one["counts"]["rules"] if key != "total")
    )
    types = [key for key in types if any(one["counts"]["rules"].get(key) for one in results)]
    columns = [("dataset", ""), ("rules", ""), ("source", ""), ("number", ",d"), ("paper", ",d")]
    columns += [*((key, ",d") for key in types), ("digest", "")]
    rows: list[list[Value]] = []
    for one in results:
        counts = one["counts"]["rules"]
        reported = paper.get((one["paper"] or "", one["dataset"], "", "rules"))
        rows.append(
            [
                one["titles"]["dataset"],
                one["titles"]["rules"],
                one["source"],
                counts["total"],
                reported,
                *(counts.get(key, 0) for key in types),
                one["counts"]["digest"][:12],
            ]
        )
    return Table(
        "Rules by type, after thresholds. Source: mined in this run, pinned (a file of known "
        "content), or supplied by the user.",
        columns,
        rows,
    )


def runtimes_table(
    results: Sequence[Result], times: Sequence[Mapping[str, Any]], paper: Cells
) -> Table:
    """Show where the time goes for each strategy alone, beside the paper's total."""
    by_key = {(one["rules"], one["dataset"]): one for one in results}
    columns = [("dataset", ""), ("rules", ""), ("strategy", ""), ("threads", "d")]
    columns += [(f"{stage}, s", ".2f") for stage in ("compile", *STAGES)]
    columns += [("total, s", ".2f"), ("range, s", ""), ("repeats", "d"), ("paper, s", ",.0f")]
    rows: list[list[Value]] = []
    for time in times:
        one = by_key[time["rules"], time["dataset"]]
        for strategy, timed in time["strategies"].items():
            minutes = paper.get((one["paper"] or "", one["dataset"], strategy, "minutes"))
            total = timed["total"]
            rows.append(
                [
                    one["titles"]["dataset"],
                    one["titles"]["rules"],
                    title(strategy),
                    time["threads"],
                    time["compile"],
                    *(timed[stage]["median"] for stage in STAGES),
                    total["median"],
                    f"{total['low']:.2f} {DASH} {total['high']:.2f}",
                    time["repeats"],
                    None if minutes is None else 60 * minutes,
                ]
            )
    machines = sorted({time["cpu"] for time in times})
    return Table(
        "Seconds to evaluate test by one strategy alone, medians; with valid where h is tuned. The "
        "total is without compile: kernels compiled, or read from the cache, once for a process. "
        f"{'; '.join(machines)}. The paper: two Xeon E5-2640 v4, 30 threads.",
        columns,
        rows,
    )


def claims_table(claims: Sequence[Claim], results: Sequence[Result]) -> Table:
    """List the claims that the run can check, with their verdicts."""
    rules = {one["paper"]: one["titles"]["rules"] for one in results if one["paper"]}
    used = ", ".join(f"for {paper} those of {name}" for paper, name in rules.items())
    columns = [("verdict", ""), ("source", ""), ("claim", ""), ("of", ""), ("expected", "")]
    columns += [("paper", ".4g"), ("ours", ".4g"), ("difference", "+.3g"), ("in the paper", "")]
    checked = [claim for claim in claims if claim.ours is not None]
    rows: list[list[Value]] = [
        [
            claim.verdict,
            claim.source,
            claim.text,
            claim.subject,
            claim.expected,
            claim.paper,
            claim.ours,
            claim.difference,
            claim.verdict_of_paper.lower(),
        ]
        for claim in sorted(checked, key=lambda claim: VERDICTS.index(claim.verdict))
    ]
    return Table(
        f"What the paper claims, checked, with rules as follows: {used or 'none'}. DIFFERS: not "
        "as in the paper, but not for the worse. The last column says whether the paper's own "
        f"tables keep it. {len(claims) - len(checked)} more are about datasets, rules or "
        "strategies that this run does not have.",
        columns,
        rows,
    )


def _distinct(results: Sequence[Result], key: str) -> dict[str, str]:
    """Return the titles of all datasets, or rules, by name."""
    return {one[key]: one["titles"][key] for one in results}
