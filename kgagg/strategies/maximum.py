"""MAX and MAX+: the best rules decide."""

from __future__ import annotations

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.strategies.base import Strategy, register


@register("max")
class Max(Strategy):
    """The confidence of the best rule: ``max conf(c)`` (Definition 3.4).

    Marginal inference when all rules are maximally correlated (Theorem 4.5).
    """

    name = "max"
    complete = False

    def score(self, firings: Firings) -> np.ndarray:
        """Return the confidence of the first rule of each candidate."""
        return np.asarray(firings.confidence[firings.rules[firings.rule_ptr[:-1]]])


@register("max+")
class MaxPlus(Strategy):
    """The confidences in descending order, compared lexicographically (section 3.3.2).

    Candidates with the same best rule are compared by their second best, and so on; where the
    rules of one end, the other wins. The score is minus the rank in that order.
    """

    name = "max+"

    def score(self, firings: Firings) -> np.ndarray:
        """Return minus the level of each candidate."""
        return -firings.level.astype(np.float64)

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return the confidence of the best rule."""
        return np.asarray(firings.confidence[firings.rules[firings.rule_ptr[:-1]]])
