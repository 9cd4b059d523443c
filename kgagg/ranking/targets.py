"""From scores to the ranks of targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking import _targets
from kgagg.ranking.ties import expected_reciprocal_rank


class TieOrder(NamedTuple):
    """Which of several candidates with the same score comes first.

    Attributes
    ----------
    priority : int32[entities]
        Not negative; the lower one comes first, equal ones stay tied.
    hashed : bool
        Priorities are hash codes: the order follows from the buckets of a hash table of Java that
        has room for all with that score.
    """

    priority: np.ndarray
    hashed: bool = False


def rank_targets(
    firings: Firings, scores: np.ndarray, order: TieOrder | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rank the targets of queries among their candidates, without the query's other targets.

    Parameters
    ----------
    firings : Firings
    scores : float64[strategies, candidates]
    order : TieOrder, optional
        Breaks ties. By default nothing does.

    Returns
    -------
    optimistic, pessimistic : int32[strategies, targets]
        0 for a target that is not a candidate.
    """
    queries = firings.queries
    ranks = np.zeros((2, len(scores), len(queries.target)), np.int32)
    _targets.rank_targets(
        firings.query_ptr,
        firings.candidate,
        scores,
        queries.target_ptr,
        queries.target,
        *(order or TieOrder(np.empty(0, np.int32))),
        target_rows(firings),
        np.empty(np.diff(firings.query_ptr).max(initial=0), np.int64),
        ranks,
    )
    return ranks[0], ranks[1]


def target_rows(firings: Firings) -> np.ndarray:
    """Return the row of each target among the candidates, -1 if it is none: int64[targets]."""
    queries = firings.queries
    rows = np.full(len(queries.target), -1)
    _targets.target_rows(
        firings.query_ptr, firings.candidate, queries.target_ptr, queries.target, rows
    )
    return rows


def frequency_order(train: np.ndarray, entities: int) -> TieOrder:
    """Return PyClause's order of tied candidates: frequent in train first, then by name.

    Parameters
    ----------
    train : int32[n, 3]
    entities : int
    """
    frequency = np.bincount(train[:, [0, 2]].ravel(), minlength=entities)
    priority = np.empty(entities, np.int32)
    priority[np.argsort(-frequency, kind="stable")] = np.arange(entities)
    return TieOrder(priority)


def java_order(entities: Vocabulary) -> TieOrder:
    """Return AnyBURL's order of tied candidates, which are in a hash set of Java.

    Names whose codes share a bucket stay tied: they come in the order of insertion.
    """
    codes = []
    for name in entities.names():
        code, units = 0, name.encode("utf-16-le")
        for low, high in zip(units[::2], units[1::2], strict=True):
            code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
        codes.append(code ^ code >> 16)
    return TieOrder(np.array(codes, np.int64).astype(np.uint32).astype(np.int32) & 0x7FFFFFFF, True)


def reciprocal_ranks(firings: Firings, scores: np.ndarray) -> np.ndarray:
    """Return the expected reciprocal rank of each target: float64[strategies, targets].

    Parameters
    ----------
    firings : Firings
    scores : float64[strategies, candidates]
    """
    low, high = rank_targets(firings, scores)
    return expected_reciprocal_rank(low.astype(np.int64), high.astype(np.int64))
