"""Strategies that the paper argues against: they read all rules of a candidate."""

from __future__ import annotations

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.strategies import _kernels
from kgagg.strategies.base import Strategy, register


def _sums(firings: Firings, value: np.ndarray) -> np.ndarray:
    """Sum a value of each rule by candidate: float64[candidates]."""
    everything = np.array([np.iinfo(np.int64).max // 2])
    return np.asarray(_kernels.top_sums(firings.rule_ptr, firings.rules, value, everything)[0])


@register("log-odds")
class LogOdds(Strategy):
    """The sum of ``ln(conf / (1 - conf))`` over all rules (appendix D).

    The marginal of the candidate in a Markov logic network with observed bodies is the sigmoid of
    this sum, when each rule counts once however many groundings it has. A rule below 0.5 is a vote
    against the candidate it predicts, which is why the paper expects little of it. Confidences are
    kept away from 0 and 1 by 1e-9.
    """

    name = "log-odds"
    best = 0

    def score(self, firings: Firings) -> np.ndarray:
        """Return the summed log odds of each candidate."""
        return _sums(firings, _log_odds(firings.confidence))

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return the log odds of each rule."""
        return _log_odds(confidence[rules])


def _log_odds(confidence: np.ndarray) -> np.ndarray:
    chosen = np.clip(confidence, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(chosen) - np.log1p(-chosen))


@register("mean")
class Mean(Strategy):
    """The mean confidence of all rules: further evidence can lower the score."""

    name = "mean"
    best = 0

    def score(self, firings: Firings) -> np.ndarray:
        """Return the mean confidence of each candidate."""
        total = _sums(firings, firings.confidence)
        return np.asarray(total / firings.count)

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return the share of each rule in the mean."""
        return np.asarray(confidence[rules] / len(rules))
