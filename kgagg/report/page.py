"""The report: one page that needs no network."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from kgagg.report.claims import VERDICTS, Claim
from kgagg.report.results import Result, title
from kgagg.report.tables import Table, to_html

TEMPLATE = Path(__file__).with_suffix(".html")
PICTURES = {
    "curve": "MRR against h, the number of best rules that noisy-or takes: above on test, below on "
    "valid, where h is chosen and the facts of test are not filtered.",
    "tradeoff": "MRR against the seconds that a strategy takes alone, with intervals of both: the "
    "trade-off that the paper argues with.",
    "chosen": "How many relations and directions chose which h on valid.",
    "learning": "MRR on valid after each epoch of the strategies that learn; of factors, on facts "
    "that were left out.",
    "trees": "MRR on facts of valid that were left out, with more and more trees of learned; "
    "without any it is that of factors.",
    "thresholds": "MRR on valid of SAFRAN with one threshold for all relations: at 1 each rule is "
    "a cluster of its own, which is noisy-or.",
    "gain": "What noisy-or top-h* gains over MAX+ for each relation and direction; the larger the "
    "mark, the more queries.",
    "rules": "Confidence of the rules, by type.",
}


# what is black and white on paper follows the page, which may be dark
_INK = {
    "fill: #ffffff": "fill: none",
    "stroke: #ffffff": "stroke: Canvas",
    "#000000": "currentColor",
}


def page(
    results: Sequence[Result],
    claims: Sequence[Claim],
    tables: Mapping[str, Table],
    pictures: Mapping[str, str],
    manifest: Mapping[str, Any],
) -> str:
    """Write the page.

    Parameters
    ----------
    results : sequence of results
        See `kgagg.report.results`.
    claims : sequence of Claim
    tables : mapping from str to Table
        ``results``, ``comparison``, ``tests``, ``runtimes``, ``datasets``, ``rules``, ``claims``.
    pictures : mapping from str to str
        SVG, by the names of `PICTURES`.
    manifest : mapping
        See `kgagg.report.manifest`.
    """
    environment = manifest["environment"]
    checked = any(claim.ours is not None for claim in claims)
    data = {
        "results": [_drilled(one) for one in results],
        "traces": [_trace(one, name, manifest) for one in results for name in one["strategies"]],
    }
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        {name: to_html(table) for name, table in tables.items()},
        title="Aggregation of rules for knowledge graph completion",
        summary=html.escape(
            f"{_listed(results, 'dataset')}; rules: {_listed(results, 'rules')}. Written "
            f"{manifest['written']} on {environment['cpu']}, {environment['cores']} cores."
        ),
        findings=html.escape(findings(results, claims)),
        # a graph that the paper does not have is not measured by its claims
        unclaimed="" if checked else " hidden",
        verdicts="".join(f"<option>{verdict}</option>" for verdict in VERDICTS[:-1]),
        pictures="".join(
            f'<figure><div class="wide">{_embedded(pictures[name])}</div>'
            f"<figcaption>{text}</figcaption></figure>\n"
            for name, text in PICTURES.items()
            if name in pictures
        ),
        environment=to_html(_environment(manifest)),
        config=html.escape(json.dumps(manifest["config"], indent=2)),
        files=to_html(_files(manifest)),
        # a closing tag within a string would end the script
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/"),
    )


def findings(results: Sequence[Result], claims: Sequence[Claim]) -> str:
    """Say in two sentences what a run found."""
    said = []
    for one in results:
        mrr = {name: values["mrr"]["value"] for name, values in one["strategies"].items()}
        best, worst = max(mrr, key=lambda name: mrr[name]), min(mrr, key=lambda name: mrr[name])
        where = one["titles"]["dataset"]
        if sum(other["dataset"] == one["dataset"] for other in results) > 1:
            where += f" ({one['titles']['rules']})"
        text = f"{title(best)} on {where} ({mrr[best]:.3f}"
        said.append(
            f"{text}, {title(worst)} has {mrr[worst]:.3f})" if best != worst else f"{text})"
        )
    counts = Counter(claim.verdict for claim in claims)
    checked = sum(counts[verdict] for verdict in VERDICTS[:-1])
    told = f"Best in MRR: {'; '.join(said)}."
    if checked:
        told += (
            f" Of {checked} numbers and statements of the paper that this run can check, "
            f"{counts['PASS']} hold, {counts['DIFFERS']} differ but not for the worse, and "
            f"{counts['FAIL']} do not hold."
        )
    else:
        tied = max(
            (values["tied"], one["titles"]["dataset"], title(name))
            for one in results
            for name, values in one["strategies"].items()
        )
        told += (
            f" At most {tied[0]:.1%} of the queries have a tied target ({tied[2]} on {tied[1]})."
        )
    return told


def _listed(results: Sequence[Result], key: str) -> str:
    return ", ".join(dict.fromkeys(one["titles"][key] for one in results))


def _embedded(svg: str) -> str:
    """Return an SVG for HTML: without the XML declaration, in the colours of the page."""
    for printed, shown in _INK.items():
        svg = svg.replace(printed, shown)
    return svg[svg.index("<svg") :]


def _drilled(one: Result) -> dict[str, Any]:
    """Return what the page shows of the relations of a result."""
    chosen = one["chosen"]
    return {
        "title": f"{one['titles']['dataset']}, {one['titles']['rules']}",
        "strategies": [title(name) for name in one["strategies"]],
        "relations": [
            {
                "relation": row["relation"],
                "direction": row["direction"],
                "queries": row["queries"],
                "mrr": [round(row["mrr"][name], 4) for name in one["strategies"]],
                "chosen": title(chosen.get(row["relation"], {}).get(row["direction"], "")),
            }
            for row in one["relations"]
        ],
    }


def _trace(one: Result, strategy: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the way back from a number to the files that it was made from."""
    dataset, rules = one["dataset"], one["rules"]
    label = strategy.replace("*", "-star")
    steps = (
        (
            "Metrics and intervals, from the ranks of all strategies:",
            [f"results/{dataset}/{rules}."],
        ),
        ("Ranks of each test triple:", [f"ranks/{dataset}/{rules}/test/{label}."]),
        ("What was chosen or fitted on valid:", [f"models/{dataset}/{rules}/{label}."]),
        ("Rules, sorted by confidence, in binary form:", [f"rules/{dataset}/{rules}.kgagg"]),
        (f"Rules as {one['source']}, and their record:", [f"rules/{dataset}/{rules}.rules"]),
        ("Input:", [f"data/{dataset}/"]),
    )
    found = [
        {"text": text, "files": list(_matching(manifest, prefixes))} for text, prefixes in steps
    ]
    return {
        "title": f"{title(strategy)} on {one['titles']['dataset']}, {one['titles']['rules']}",
        "steps": [step for step in found if step["files"]],
    }


def _matching(manifest: Mapping[str, Any], prefixes: Iterable[str]) -> Iterable[dict[str, str]]:
    for name, entry in manifest["files"].items():
        if name.startswith(tuple(prefixes)):
            yield {"name": name, "sha256": entry["sha256"]}


def _environment(manifest: Mapping[str, Any]) -> Table:
    environment = manifest["environment"]
    rows = [
        [key, str(environment[key])] for key in ("python", "platform", "cpu", "cores", "commit")
    ]
    rows += [[name, version] for name, version in environment["packages"].items()]
    rows += [[f"{manifest['lock']['file']}, sha256", manifest["lock"]["sha256"]]]
    rows += [[f"{name}, jar", digest] for name, digest in manifest["jars"].items()]
    return Table("Environment of the run.", [("what", ""), ("which", "")], rows)


def _files(manifest: Mapping[str, Any]) -> Table:
    rows = [[name, entry["bytes"], entry["sha256"]] for name, entry in manifest["files"].items()]
    return Table("Files of the run.", [("file", ""), ("bytes", ",d"), ("sha256", "")], rows)
