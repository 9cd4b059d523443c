r"""Ties: what a target contributes to a metric when other candidates have its score.

The filtered rank of a target among candidates with equal scores is not one number. A `Ranks`
object holds for each query the *optimistic* rank ``o`` (all tied candidates after the target) and
the *pessimistic* rank ``p`` (all of them before it). With random tie breaking the rank is uniform
on ``o..p``, so with ``t = p - o + 1`` the means over all random orders are

.. math::

    E[1/r] = (H_p - H_{o-1}) / t, \qquad E[r \le k] = \mathrm{clip}(k - o + 1, 0, t) / t,

where :math:`H_n` is the n-th harmonic number. These are the default, ``expected``: exactly what an
evaluation with random ties (the paper's) gives on average. The mean rank ``realistic`` gives less,
since :math:`1/E[r] \le E[1/r]`. A target that is not among the candidates has no rank and counts
as 0 under every policy.
"""

from __future__ import annotations

import numpy as np

from kgagg.errors import InputError, nearest
from kgagg.ranking.ranks import Ranks

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
TIES = ("expected", "random", "realistic", "optimistic", "pessimistic")


def harmonic_numbers(count: int) -> np.ndarray:
    """Return the harmonic numbers from the one of 0 to that of `count`: float64[count + 1]."""
    return np.append(0.0, np.cumsum(1.0 / np.arange(1, count + 1)))


def expected_reciprocal_rank(
    optimistic: np.ndarray, pessimistic: np.ndarray, cut: int | None = None
) -> np.ndarray:
    """Return the mean of ``1 / rank`` over all orders of ties; 0 without a rank: float64[...].

    Parameters
    ----------
    optimistic, pessimistic : int64[...]
        From 1; 0 for a target that is not among the candidates.
    cut : int, optional
        Ranks beyond this one count as none.
    """
    last = pessimistic if cut is None else np.minimum(pessimistic, cut)
    before = np.minimum(np.maximum(optimistic - 1, 0), last)
    harmonic = harmonic_numbers(int(last.max(initial=0)))
    mass = harmonic[last] - harmonic[before]
    return np.where(optimistic > 0, mass / (pessimistic - optimistic + 1), 0.0)


def values(
    ranks: Ranks,
    metric: str = "mrr",
    ties: str = "expected",
    seed: int = 0,
    cut: int | None = None,
) -> np.ndarray:
    """Return what each query contributes to a metric: float64[S, T, 2].

    Parameters
    ----------
    ranks : Ranks
    metric : str
        ``"mrr"``, or ``"hits@k"`` for any k.
    ties : str
        ``"expected"`` (the mean over random orders), ``"random"`` (one random order),
        ``"realistic"`` (the mean rank), ``"optimistic"`` or ``"pessimistic"``.
    seed : int
        For random ties. A query has the same draw for all strategies, so that two strategies with
        equal ranks get equal values.
    cut : int, optional
        Ranks beyond this one count as none.
    """
    hits = _hits(metric)
    low, high = ranks.optimistic.astype(np.int64), ranks.pessimistic.astype(np.int64)
    found, tied = low > 0, high - low + 1
    rank: np.ndarray
    match ties:
        case "expected":
            if hits is None:
                return expected_reciprocal_rank(low, high, cut)
            within = hits if cut is None else min(hits, cut)
            return np.where(found, np.clip(within - low + 1, 0, tied) / tied, 0.0)
        case "random":
            draw = np.random.default_rng(seed).random(low.shape[1:])
            rank = low + (draw * tied).astype(np.int64)
        case "realistic":
            rank = (low + high) / 2
        case "optimistic":
            rank = low
        case "pessimistic":
            rank = high
        case _:
            raise InputError(f"unknown tie policy {ties!r}{nearest(ties, TIES)}")
    if cut is not None:
        found = found & (rank <= cut)
    value = 1.0 / np.where(found, rank, 1) if hits is None else (rank <= hits).astype(np.float64)
    return np.where(found, value, 0.0)


def _hits(metric: str) -> int | None:
    """Return the k of ``hits@k``, None for ``mrr``."""
    if metric == "mrr":
        return None
    name, _, k = metric.partition("@")
    if name != "hits" or not k.isdecimal() or int(k) < 1:
        raise InputError(f"unknown metric {metric!r}{nearest(metric, METRICS)}")
    return int(k)
