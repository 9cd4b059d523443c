"""What a strategy is, and the one registry of strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.errors import InputError, nearest


class Strategy(ABC):
    """A way to turn the rules that predict a candidate into one score.

    Attributes
    ----------
    name : str
    best : int
        How many of the best rules of a candidate it reads; 0 means all of them.
    complete : bool
        Whether it reads more than the best rule: more rules, or what sums up all of them.
    """

    name: str
    best: int = 1
    complete: bool = True

    @abstractmethod
    def score(self, firings: Firings) -> np.ndarray:
        """Return the score of each candidate, float64[candidates]; higher is better."""

    def value(self, firings: Firings, score: np.ndarray) -> np.ndarray:
        """Return what to show people for a `score`: a confidence where it stands for one."""
        return score

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return what each rule of one candidate adds to the score, float64[n].

        By default the best rule decides.

        Parameters
        ----------
        rules : int32[n]
            All rules of the candidate, ascending by rank.
        confidence : float64[all rules]
        """
        return np.where(np.arange(len(rules)) == 0, confidence[rules], 0.0)

    def groups(self, rules: np.ndarray) -> list[str]:
        """Return what to call the group of rules to which each belongs; by default there is none.

        Parameters
        ----------
        rules : int32[n]
            All rules of one candidate, ascending by rank.
        """
        return [""] * len(rules)

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return what scores the queries of a relation and direction, if one alone does."""
        return self

    @classmethod
    def score_many(cls, strategies: Sequence[Any], firings: Firings) -> np.ndarray:
        """Score by several strategies of this class: float64[strategies, candidates]."""
        return np.stack([one.score(firings) for one in strategies])


_Class = TypeVar("_Class", bound=type[Strategy])
_classes: dict[str, Callable[..., Strategy]] = {}


def register(name: str) -> Callable[[_Class], _Class]:
    """Register a class of strategies under `name`.

    A name that ends in ``-h`` stands for all names with a positive number in that place, with
    which the class is then called: ``noisy-or-top-h`` answers to ``noisy-or-top-5``.
    """

    def decorate(kind: _Class) -> _Class:
        _classes[name] = kind
        return kind

    return decorate


def registered() -> list[str]:
    """Return the names under which strategies are registered."""
    return sorted(_classes)


def strategy(name: str) -> Strategy:
    """Return the strategy with this name.

    Raises
    ------
    InputError
        If there is none.
    """
    prefix, _, number = name.rpartition("-")
    if number.isdecimal() and int(number) > 0 and f"{prefix}-h" in _classes:
        return _classes[f"{prefix}-h"](int(number))
    if name in _classes and not name.endswith("-h"):
        return _classes[name]()
    known = registered()
    raise InputError(
        f"unknown strategy {name!r}, expected one of {', '.join(known)}{nearest(name, known)}"
    )


def best_rules(strategies: Sequence[Strategy]) -> int:
    """Return how many rules of a candidate must be kept for all of `strategies`; 0 means all."""
    needed = [one.best for one in strategies]
    return 0 if 0 in needed else max(needed, default=1)


def score(firings: Firings, strategies: Sequence[Strategy]) -> np.ndarray:
    """Return the scores of all candidates by each strategy: float64[strategies, candidates].

    Raises
    ------
    ValueError
        If the firings keep fewer rules than a strategy reads.
    """
    best = best_rules(strategies)
    kept = np.diff(firings.rule_ptr)
    if np.any(kept < (np.minimum(firings.count, best) if best else firings.count)):
        raise ValueError(f"expected firings with the best {best or 'of all'} rules of a candidate")
    kinds: dict[type[Strategy], list[int]] = {}
    for i, one in enumerate(strategies):
        kinds.setdefault(type(one), []).append(i)
    scores = np.empty((len(strategies), len(firings)))
    for kind, rows in kinds.items():
        found = kind.score_many([strategies[i] for i in rows], firings)
        for i, row in enumerate(rows):
            scores[row] = found[i]
    return scores
