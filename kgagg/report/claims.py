"""What the paper claims, checked against a run: PASS, DIFFERS, FAIL or NOT RUN."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from kgagg.data.registry import registry
from kgagg.errors import InputError, nearest
from kgagg.util.text import MINUS, number

# (rules, dataset, strategy, metric); tables of the paper name rules by its miners
Cells = Mapping[tuple[str, str, str, str], float]
# what people look for first
VERDICTS = ("FAIL", "DIFFERS", "PASS", "NOT RUN")
PICKS = {"best-of": -1, "second-of": -2, "worst-of": 0}
KEYS = ("says", "source", "difference", "ratio", "for", "mean", "at_least", "at_most", "tolerance")


@dataclass(frozen=True)
class Claim:
    """One thing that can be checked.

    Attributes
    ----------
    source : str
        Where the paper says it.
    text : str
        What it says.
    subject : str
        What it says it of: dataset, rules, strategy, metric.
    expected : str
        The bounds that the value has to keep, for people.
    low, high : float
        The same as numbers.
    paper, ours : float or None
        The value by the paper's tables and by the run; None where something it takes is missing.
    better : str
        On which side of the bounds a value is no failure: ``"higher"``, ``"lower"``, ``"both"``;
        empty for none.
    """

    source: str
    text: str
    subject: str
    expected: str
    low: float
    high: float
    paper: float | None
    ours: float | None
    better: str = ""

    @property
    def verdict(self) -> str:
        """``"PASS"``; ``"DIFFERS"``, but not for the worse; ``"FAIL"``; or ``"NOT RUN"``."""
        return _verdict(self.ours, self)

    @property
    def verdict_of_paper(self) -> str:
        """Whether the paper's own tables keep what it says."""
        return _verdict(self.paper, self)

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper


def _verdict(value: float | None, claim: Claim) -> str:
    if value is None:
        return "NOT RUN"
    # differences of decimals are not exact
    if claim.low - 1e-9 <= value <= claim.high + 1e-9:
        return "PASS"
    side = "lower" if value < claim.low else "higher"
    return "DIFFERS" if claim.better in (side, "both") else "FAIL"


def read_claims(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file of claims (config/claims.yaml says how it is written).

    Raises
    ------
    InputError
        If it is not valid.
    """
    try:
        claims = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    for section in ("results", "runtimes", "rules", "statements"):
        if section not in claims:
            raise InputError(f"{path}: has no section {section}")
    for statement in claims["statements"]:
        for key in statement:
            if key not in KEYS:
                raise InputError(f"{path}: statements: unknown key {key}{nearest(key, KEYS)}")
    return dict(claims)


def paper_cells(claims: Mapping[str, Any]) -> dict[tuple[str, str, str, str], float]:
    """Return all numbers of the paper's tables."""
    cells = {}
    metrics = claims["results"]["metrics"]
    for rules, dataset, strategy, values in _leaves(claims["results"]["values"], 3):
        for metric, value in zip(metrics, values, strict=True):
            cells[rules, dataset, strategy, metric] = value
    for rules, dataset, strategy, minutes in _leaves(claims["runtimes"]["values"], 3):
        cells[rules, dataset, strategy, "minutes"] = minutes
    for rules, dataset, count in _leaves(claims["rules"]["values"], 2):
        cells[rules, dataset, "", "rules"] = count
    for name, dataset in registry().items():
        for key, count in dataset.paper.items():
            cells["", name, "", key] = count
    return cells


def check(claims: Mapping[str, Any], ours: Cells) -> list[Claim]:
    """Check all claims.

    Parameters
    ----------
    claims : mapping
        From `read_claims`.
    ours : mapping
        The numbers of the run, by (rules, dataset, strategy, metric): metrics of evaluation and
        ``minutes``; with an empty strategy ``rules``, how many there are; with empty rules as
        well, what `kgagg.graph.statistics` counts.
    """
    paper = paper_cells(claims)
    return [*_numbers(claims, paper, ours), *_statements(claims, paper, ours)]


def _numbers(claims: Mapping[str, Any], paper: Cells, ours: Cells) -> Iterator[Claim]:
    for cell, value in paper.items():
        rules, dataset, strategy, metric = cell
        low = high = value
        better = ""
        source, text = "Table 3", f"{dataset}: {metric}"
        match metric:
            case "minutes":
                source, text = claims["runtimes"]["source"], "no slower than"
                low = 0.0
            case "rules":
                source, text = claims["rules"]["source"], "number of rules"
                share, better = claims["rules"]["tolerance"][rules], "both"
                low, high = value * (1 - share), value * (1 + share)
            case _ if strategy:
                source, text, better = claims["results"]["source"], metric, "higher"
                tolerance = claims["results"]["tolerance"]
                low, high = value - tolerance, value + tolerance
        expected = number(value)
        if high > low:
            expected = (
                f"≤ {expected}" if metric == "minutes" else f"{expected} ± {number(high - value)}"
            )
        subject = " ".join(filter(None, (rules, dataset, strategy, metric)))
        yield Claim(source, text, subject, expected, low, high, value, ours.get(cell), better)


def _statements(claims: Mapping[str, Any], paper: Cells, ours: Cells) -> Iterator[Claim]:
    for statement in claims["statements"]:
        over = dict(statement.get("for", {}))
        averaged = {key: over.pop(key) for key in [statement.get("mean")] if key}
        low = statement.get("at_least", -float("inf"))
        high = statement.get("at_most", float("inf"))
        sign, bound = ("≥", low) if high == float("inf") else ("≤", high)
        tolerance = statement["tolerance"]
        expected = f"{sign} {number(bound)}" + (f" ± {number(tolerance)}" if tolerance else "")
        for values in itertools.product(*over.values()):
            chosen = dict(zip(over, values, strict=True))
            parts = [
                chosen | dict(zip(averaged, more, strict=True))
                for more in itertools.product(*averaged.values())
            ]
            operator, (left, right) = next(
                (key, statement[key]) for key in ("difference", "ratio") if key in statement
            )
            theirs, found = (
                _mean([_value(operator, left, right, part, cells) for part in parts])
                for cells in (paper, ours)
            )
            named = chosen | dict.fromkeys(averaged, "mean")
            sign = MINUS if operator == "difference" else "/"
            subject = f"{left.format(**named)} {sign} {right.format(**named)}"
            yield Claim(
                statement["source"],
                " ".join(statement["says"].split()),
                subject,
                expected,
                low - tolerance,
                high + tolerance,
                theirs,
                found,
                # ratios are of times
                better="lower" if operator == "ratio" else "",
            )


def _value(
    operator: str, left: str, right: str, names: Mapping[str, str], cells: Cells
) -> float | None:
    a, b = (_cell(text.format(**names), cells) for text in (left, right))
    if a is None or b is None:
        return None
    if operator == "difference":
        return a - b
    return a / b if b else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def _cell(text: str, cells: Cells) -> float | None:
    """Look up ``"rules dataset strategy metric"``."""
    rules, dataset, strategy, metric = text.split()
    pick, _, some = strategy.partition(":")
    if not some:
        return cells.get((rules, dataset, strategy, metric))
    found = [cells.get((rules, dataset, name, metric)) for name in some.split(",")]
    known = sorted(value for value in found if value is not None)
    return known[PICKS[pick]] if len(known) == len(found) else None


def _leaves(tree: Any, depth: int) -> Iterator[tuple[Any, ...]]:
    """Walk a tree of mappings: the keys on the way, then what is there."""
    if depth == 0:
        yield (tree,)
        return
    for key, branch in tree.items():
        for rest in _leaves(branch, depth - 1):
            yield (key, *rest)
