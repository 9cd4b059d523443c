"""The confidence that ranks a rule, and which rules are too weak to be used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgagg.errors import InputError, nearest
from kgagg.rules.shapes import CONSTANT, DANGLING, KINDS, ME_ID, ZERO

# the types with their own weight and thresholds: each kind, and the three that can be reflexive
REFLEXIVE = {kind: len(KINDS) + i for i, kind in enumerate((CONSTANT, DANGLING, ZERO))}
TYPES = (*KINDS, *(f"reflexive {KINDS[kind]}" for kind in REFLEXIVE))


@dataclass(frozen=True)
class Threshold:
    """What a rule of one type must reach to be used.

    Parameters
    ----------
    correct : int
        The minimum number of correct predictions.
    confidence : float
        The bound for correct / predicted, which is never smoothed here. A rule without any
        correct prediction is judged by `correct` alone.
    strict : bool
        The bound itself is too low.
    length : int or None
        The maximum number of body atoms.
    """

    correct: int = 0
    confidence: float = 0.0
    strict: bool = False
    length: int | None = None


@dataclass(frozen=True)
class Confidence:
    """The confidence of a rule: ``weight * correct / (predicted + unseen)``.

    Parameters
    ----------
    unseen : float
        How many unseen negative examples are added to the predictions of every rule.
    weights : tuple of (str, float)
        Weight by type (`TYPES`); 1 for a type that is not named.
    thresholds : tuple of (str, Threshold)
        Threshold by type, on the unsmoothed statistics of the file; none for a type that is not
        named.
    pca : bool
        Take AMIE's PCA body size for `predicted` where there is one. The default is the standard
        confidence, eq. (1) of the paper.

    Notes
    -----
    The presets carry the thresholds of the program they are named after to every dialect: with
    ``anyburl`` a rule of AMIE with one positive example is dropped, as AnyBURL does when it reads
    such rules. What was dropped is counted in the report.
    """

    unseen: float = 5.0
    weights: tuple[tuple[str, float], ...] = (
        ("dangling", 0.1),
        ("zero", 0.01),
        ("reflexive dangling", 0.1),
        ("reflexive zero", 0.01),
    )
    thresholds: tuple[tuple[str, Threshold], ...] = ()
    pca: bool = False
    _tables: tuple[np.ndarray, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_types(name for name, _ in (*self.weights, *self.thresholds))
        weights, thresholds = dict(self.weights), dict(self.thresholds)
        if self.unseen < 0 or any(not 0 <= weight <= 1 for weight in weights.values()):
            raise InputError("confidence: expected unseen >= 0 and weights between 0 and 1")
        limits = [thresholds.get(name, Threshold()) for name in TYPES]
        tables = (
            np.array([weights.get(name, 1.0) for name in TYPES]),
            np.array([limit.correct for limit in limits]),
            np.array([limit.confidence for limit in limits]),
            np.array([limit.strict for limit in limits]),
            np.array([np.inf if limit.length is None else limit.length for limit in limits]),
        )
        object.__setattr__(self, "_tables", tables)

    @classmethod
    def preset(cls, name: str) -> Confidence:
        """Return the settings of ``anyburl`` (AnyBURL's Apply, the paper's) or ``pyclause``."""
        if name == "anyburl":
            limit = Threshold(correct=2, confidence=1e-4, strict=True, length=10)
            return cls(thresholds=tuple((kind, limit) for kind in TYPES))
        if name == "pyclause":
            limits = dict.fromkeys(TYPES, Threshold(confidence=1e-4))
            # PyClause does not load these
            limits["reflexive zero"] = Threshold(length=-1)
            return cls(
                weights=(("dangling", 0.1), ("zero", 0.01)), thresholds=tuple(limits.items())
            )
        expected = ("anyburl", "pyclause")
        raise InputError(
            f"{name}: no such semantics, expected {' or '.join(expected)}{nearest(name, expected)}"
        )

    def same_ranks(self, other: Confidence) -> bool:
        """Return whether both give every rule the same confidence (thresholds may differ)."""
        return dataclasses.replace(self, thresholds=()) == dataclasses.replace(other, thresholds=())

    def of(self, types: np.ndarray, predicted: np.ndarray, correct: np.ndarray) -> np.ndarray:
        """Return the confidence of rules: float64[n].

        Parameters
        ----------
        types : uint8[n]
            Positions in `TYPES` (see `types_of`).
        predicted, correct : int[n]
            The statistics.
        """
        total = predicted + self.unseen
        result = np.divide(correct, total, out=np.zeros(len(total)), where=total > 0)
        return np.asarray(result * self._tables[0][types])

    def kept(
        self, types: np.ndarray, predicted: np.ndarray, correct: np.ndarray, length: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return for each threshold which rules reach it: bool[n] by the threshold's name."""
        _, least, bound, strict, longest = self._tables
        share = np.divide(correct, predicted, out=np.zeros(len(correct)), where=predicted > 0)
        bounds = bound[types]
        return {
            "correct predictions": correct >= least[types],
            "confidence": (share > bounds) | ((share == bounds) & ~strict[types]) | (correct == 0),
            "length": length <= longest[types],
        }

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON-compatible values."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        plain["thresholds"] = [(n, dataclasses.asdict(limit)) for n, limit in self.thresholds]
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Confidence:
        """Return the settings that `to_json` gave."""
        weights = tuple((name, weight) for name, weight in plain["weights"])
        thresholds = tuple((name, Threshold(**limit)) for name, limit in plain["thresholds"])
        return cls(plain["unseen"], weights, thresholds, plain["pca"])


def weight_of(confidence: np.ndarray) -> np.ndarray:
    """Return ``-log(1 - confidence)``, infinite for a confidence of 1: float64[n].

    It is what a rule adds to noisy-or on a logarithmic scale: with the sum s of the weights of all
    rules that predict a candidate, ``1 - prod(1 - conf)`` is ``1 - exp(-s)``.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-confidence))


def types_of(kind: np.ndarray, head_constant: np.ndarray) -> np.ndarray:
    """Return the position in `TYPES` of each rule: uint8[n]."""
    table = np.arange(len(TYPES), dtype=np.uint8)
    for plain, reflexive in REFLEXIVE.items():
        table[plain] = reflexive
    return np.where(head_constant == ME_ID, table[kind], kind)


def _check_types(names: Iterable[str]) -> None:
    for name in names:
        if name not in TYPES:
            raise InputError(
                f"{name}: not a rule type, expected one of {', '.join(TYPES)}{nearest(name, TYPES)}"
            )
