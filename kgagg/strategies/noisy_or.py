r"""Noisy-or over all rules of a candidate, or over the best h.

Scores are :math:`s = \sum -\log(1 - conf)`, of which noisy-or, :math:`1 - e^{-s}`, is an increasing
function: the ranking is the same, and products near 1 stay apart. A rule of confidence 1 makes the
score infinite, and candidates with such a rule tie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.rules.confidence import weight_of
from kgagg.strategies import _kernels
from kgagg.strategies.base import TOP_H, Strategy, register


@register("noisy-or")
class NoisyOr(Strategy):
    """Noisy-or over all rules: ``1 - prod(1 - conf(c))`` (Definition 3.5).

    Marginal inference when all rules are independent (Proposition 4.7).
    """

    name = "noisy-or"

    def score(self, firings: Firings) -> np.ndarray:
        """Return the strength of each candidate."""
        return firings.strength

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return noisy-or itself."""
        return np.asarray(-np.expm1(-scores))

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return the weight of each rule."""
        return weight_of(confidence[rules])


@register("noisy-or-top-h")
class NoisyOrTopH(Strategy):
    """Noisy-or over the h rules with the highest confidences (Definition 4.8).

    Between MAX (h = 1) and noisy-or (Proposition 4.9).
    """

    def __init__(self, h: int) -> None:
        self.name, self.best, self.complete = f"noisy-or-top-{h}", h, h > 1

    @classmethod
    def named(cls, name: str, top_h: Sequence[int] = TOP_H) -> NoisyOrTopH:
        """Read h from the name."""
        return cls(int(name.rpartition("-")[2]))

    def score(self, firings: Firings) -> np.ndarray:
        """Return the sum of the h greatest weights of each candidate."""
        return np.asarray(self.score_many([self], firings)[0])

    @classmethod
    def score_many(cls, strategies: Sequence[NoisyOrTopH], firings: Firings) -> np.ndarray:
        """Score by all h in one pass: float64[strategies, candidates]."""
        depths, row = np.unique([one.best for one in strategies], return_inverse=True)
        sums = _kernels.top_sums(firings.rule_ptr, firings.rules, firings.weight, depths)
        return np.asarray(sums[row] if np.any(np.diff(row) != 1) else sums)

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return noisy-or itself."""
        return np.asarray(-np.expm1(-scores))

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return the weight of each of the first h rules."""
        return np.where(np.arange(len(rules)) < self.best, weight_of(confidence[rules]), 0.0)
