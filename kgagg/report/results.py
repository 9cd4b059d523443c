"""The numbers of a run, as the tables, plots, claims and the page read them.

One *result* is what came out for one rule set on one dataset, a mapping that JSON can hold:

``dataset``, ``rules``
    Names; and ``titles`` of both, ``paper`` (the rows of the paper to compare with, or None).
``source``
    Where the rules come from: ``mined``, ``pinned`` or ``supplied``.
``counts``
    Of the rules: ``rules`` by type, ``histogram`` of the confidence by type, ``digest``.
``queries``
    How many there are.
``strategies``
    By strategy and metric: ``value``, the bootstrap interval ``low`` and ``high``, the bracket
    ``pessimistic`` and ``optimistic``; and ``tied``, the share of queries whose target is tied,
    and ``digest``, that of the ranks.
``pairs``
    Paired tests of MRR between strategies (see `kgagg.evaluation.significance.compare`).
``relations``
    MRR by relation and direction: ``relation``, ``direction``, ``queries``, ``mrr`` by strategy.
``curve``
    MRR on valid and test by h; h = 0 means all rules.
``chosen``, ``choices``
    By relation and direction, what noisy-or-top-h* chose, and what from; empty without it.
``fits``
    By fitted strategy, its report (see `kgagg.strategies.base.Strategy`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.engine.queries import DIRECTIONS
from kgagg.errors import InputError
from kgagg.evaluation.metrics import Groups, by_relation, evaluate
from kgagg.evaluation.significance import compare, intervals
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import METRICS
from kgagg.rules.confidence import TYPES
from kgagg.rules.ruleset import RuleSet

Result = Mapping[str, Any]
# where the time goes, and what is timed besides single strategies
STAGES = ("load", "index", "fit", "apply", "aggregate")
TOGETHER = "all in one pass"
TITLES = {
    "max": "MAX",
    "max+": "MAX+",
    "safran": "SAFRAN",
    "sparse": "SV",
}


def title(strategy: str) -> str:
    """Return the name of a strategy for tables and plots."""
    return TITLES.get(strategy) or strategy.replace("noisy-or-top-", "noisy-or top-")


def count_rules(rules: RuleSet, bins: int = 20) -> dict[str, Any]:
    """Count rules by type, and by type and confidence."""
    histogram = {}
    for number, name in enumerate(TYPES):
        confidence = rules.confidence[rules.types == number]
        if len(confidence):
            histogram[name] = np.histogram(confidence, bins, (0, 1))[0].tolist()
    return {"rules": rules.counts(), "histogram": histogram, "digest": rules.digest}


def measure(ranks: Ranks, resamples: int = 10_000) -> dict[str, Any]:
    """Return the parts of a result that come from the ranks on test.

    Parameters
    ----------
    ranks : Ranks
    resamples : int
        For intervals and tests.
    """
    strategies: dict[str, Any] = {name: {} for name in ranks.strategies}
    for row in evaluate(ranks).to_dict("records"):
        entry = strategies[row["strategy"]]
        entry[row["metric"]] = {key: row[key] for key in ("value", "pessimistic", "optimistic")}
        entry["tied"] = row["tied"]
    for name, digest in zip(ranks.strategies, ranks.digests(), strict=True):
        strategies[name]["digest"] = digest
    for metric in METRICS:
        for row in intervals(ranks, metric, resamples=resamples).to_dict("records"):
            strategies[row["strategy"]][metric] |= {key: row[key] for key in ("low", "high")}
    return {
        "queries": 2 * len(ranks.triples),
        "strategies": strategies,
        "pairs": compare(ranks, resamples=resamples).to_dict("records"),
        "relations": _relations(ranks),
    }


def _relations(ranks: Ranks) -> list[dict[str, Any]]:
    """Return the MRR by relation and direction, the relations with most queries first."""
    relations = by_relation(ranks)
    labels = [f"{name}\t{direction}" for name in relations.labels for direction in DIRECTIONS]
    groups = Groups("query", labels, 2 * relations.codes + [[0, 1]])
    rows: dict[str, dict[str, Any]] = {}
    for row in evaluate(ranks, ["mrr"], groups=groups).to_dict("records"):
        relation, direction = row["query"].split("\t")
        entry = rows.setdefault(
            row["query"],
            {
                "relation": relation,
                "direction": direction,
                "queries": row["queries"],
                "mrr": {},
            },
        )
        entry["mrr"][row["strategy"]] = row["value"]
    return sorted(rows.values(), key=lambda row: -row["queries"])


def curve(valid: Ranks, test: Ranks) -> list[dict[str, Any]]:
    """Return the MRR on both splits by h, from ranks of noisy-or-top-h and noisy-or (h = 0)."""
    points: dict[int, dict[str, Any]] = {}
    for split, ranks in (("valid", valid), ("test", test)):
        for row in evaluate(ranks, ["mrr"]).to_dict("records"):
            number = re.fullmatch(r"noisy-or-top-(\d+)", row["strategy"])
            h = int(number[1]) if number else 0
            points.setdefault(h, {"h": h})[split] = row["value"]
    return [points[h] for h in sorted(points, key=lambda h: h or float("inf"))]


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Raises
    ------
    InputError
        If there is none, or it is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None


def cells(
    results: Iterable[Result],
    statistics: Mapping[str, Mapping[str, int]],
    times: Iterable[Mapping[str, Any]] = (),
) -> dict[tuple[str, str, str, str], float]:
    """Return the numbers of a run as `kgagg.report.claims.check` takes them.

    Parameters
    ----------
    results : iterable of results
    statistics : mapping
        By dataset, what `kgagg stats --json` says.
    times : iterable of mappings
        What `kgagg time --json` says.
    """
    found: dict[tuple[str, str, str, str], float] = {}
    for dataset, counts in statistics.items():
        found |= {("", dataset, "", key): count for key, count in counts.items()}
    papers = {}
    for result in results:
        if not (paper := result["paper"]):
            continue
        dataset = result["dataset"]
        papers[result["rules"], dataset] = paper
        found[paper, dataset, "", "rules"] = result["counts"]["rules"]["total"]
        for strategy, values in result["strategies"].items():
            for metric in METRICS:
                found[paper, dataset, strategy, metric] = values[metric]["value"]
    for time in times:
        if paper := papers.get((time["rules"], time["dataset"])):
            for strategy, timed in time["strategies"].items():
                seconds = timed["total"]["median"]
                found[paper, time["dataset"], strategy, "minutes"] = seconds / 60
    return found


def ordered(results: Sequence[Result]) -> list[str]:
    """Return the strategies of some results, in the order in which they first appear."""
    return list(dict.fromkeys(name for result in results for name in result["strategies"]))
