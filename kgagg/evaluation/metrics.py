"""From ranks to tables of metrics, overall or by group."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgagg.engine.queries import DIRECTIONS
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import METRICS, values

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = ("1-1", "1-n", "n-1", "n-n", "unseen")


# --- metrics -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Groups:
    """A partition of the queries.

    Attributes
    ----------
    name : str
        What the queries are grouped by.
    labels : sequence of str
    codes : integer[T, 2]
        Index into `labels` for each triple and direction.
    """

    name: str
    labels: Sequence[str]
    codes: np.ndarray


def by_relation(ranks: Ranks) -> Groups:
    """Group queries by relation."""
    codes = np.repeat(ranks.triples[:, 1:2], 2, axis=1)
    return Groups("relation", ranks.relations.names(), codes)


def by_direction(ranks: Ranks) -> Groups:
    """Group queries by direction: "tail" asks for the tail, "head" for the head."""
    return Groups("direction", DIRECTIONS, np.tile([0, 1], (len(ranks.triples), 1)))


def by_category(ranks: Ranks, train: np.ndarray) -> Groups:
    """Group queries by the category of their relation (see `relation_categories`)."""
    category = relation_categories(train, len(ranks.relations))
    return Groups("category", CATEGORIES, np.repeat(category[ranks.triples[:, 1:2]], 2, axis=1))


def relation_categories(train: np.ndarray, relations: int) -> np.ndarray:
    """Return the category of each relation, as an index into `CATEGORIES`: int64[relations].

    The usual rule (Bordes et al., 2013), on the train split alone: a side is "n" if the mean number
    of distinct entities on it for one entity on the other side is at least 1.5, else "1". So
    ``1-n`` has many tails for a head. A relation without facts in train is "unseen".

    Parameters
    ----------
    train : int32[n, 3]
        Head, relation, tail.
    relations : int
        How many relations there are.
    """
    head, relation, tail = np.unique(train, axis=0).T
    facts = np.bincount(relation, minlength=relations)

    def partners(entity: np.ndarray) -> np.ndarray:
        pairs = np.unique(np.stack([relation, entity]), axis=1)
        return np.bincount(pairs[0], minlength=relations)

    many_tails = facts >= 1.5 * partners(head)
    many_heads = facts >= 1.5 * partners(tail)
    return np.where(facts > 0, many_tails + 2 * many_heads, CATEGORIES.index("unseen"))


def evaluate(
    ranks: Ranks,
    metrics: Sequence[str] = METRICS,
    ties: str = "expected",
    seed: int = 0,
    groups: Groups | None = None,
) -> pd.DataFrame:
    """Return the metrics of all strategies, micro-averaged over the queries of both directions.

    Parameters
    ----------
    ranks : Ranks
    metrics, ties, seed
        See `values`.
    groups : Groups, optional
        Average within each group that has queries.

    Returns
    -------
    DataFrame
        One row for each group, strategy and metric, with the columns ``strategy``, ``metric``,
        ``value``; the bracket ``pessimistic``, ``optimistic`` in which every way of breaking ties
        ends; ``tied``, the tie mass: the share of all queries whose target has a rank and shares
        its score with another candidate that is not filtered; ``queries``. With `groups` the
        first column is the group's label, named as the grouping.
    """
    import pandas as pd

    codes = np.zeros(ranks.optimistic.shape[1:], np.intp) if groups is None else groups.codes
    codes, labels = codes.ravel(), ("",) if groups is None else groups.labels
    queries = np.bincount(codes, minlength=len(labels))
    used = np.flatnonzero(queries) if groups else np.zeros(1, np.intp)

    def means(value: np.ndarray) -> np.ndarray:
        """Average a value of each query: float64[S, used groups]."""
        sums = [np.bincount(codes, v.ravel(), len(labels))[used] for v in value]
        return np.array(sums) / np.maximum(queries[used], 1)

    tied = means(ranks.pessimistic > ranks.optimistic)
    columns = []
    for metric in metrics:
        value = means(values(ranks, metric, ties, seed))
        low = means(values(ranks, metric, "pessimistic"))
        high = means(values(ranks, metric, "optimistic"))
        columns.append(np.stack([value, low, high, tied]))
    table = np.stack(columns, axis=-1).transpose(2, 1, 3, 0).reshape(-1, 4)
    keys = itertools.product([labels[int(g)] for g in used], ranks.strategies, metrics)
    frame = pd.DataFrame(keys, columns=[groups.name if groups else "", "strategy", "metric"])
    frame[["value", "pessimistic", "optimistic", "tied"]] = table
    frame["queries"] = np.repeat(queries[used], len(ranks.strategies) * len(metrics))
    return frame if groups else frame.drop(columns="")


# --- how sure we are ---------------------------------------------------------------------------
