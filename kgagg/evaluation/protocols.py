"""One ranking under the conventions of the literature, side by side.

Published numbers of one system differ by how ties are broken, which test triples count, which
candidates are filtered and where the ranking ends. Each protocol here changes one of these and
keeps the rest of the first, which is the default everywhere else in this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import SPLITS, Graph
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.targets import frequency_order, java_order
from kgagg.ranking.ties import METRICS, values
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import rank_split

if TYPE_CHECKING:
    import pandas as pd

# AnyBURL's and PyClause's evaluations read this many candidates of a query
CUT = 100
PROTOCOLS = {
    "default": "ties expected, every test triple, known facts filtered, no cut",
    "realistic ties": "the mean rank of tied candidates: PyKEEN, LibKGE (rounded)",
    "optimistic ties": "the target before all that share its score",
    "pessimistic ties": "the target after all that share its score",
    "AnyBURL's order": "ties as a hash set of Java lists them",
    "PyClause's order": "ties by frequency in train",
    "unseen dropped": "triples with an entity unseen in train do not count: PyKEEN",
    "unconnected only": "a candidate linked with the query's entity in train is none: SAFRAN's "
    "ONLY_UNCONNECTED, AnyBURL's PREDICT_ONLY_UNCONNECTED",
    f"cut at {CUT}": f"a target below rank {CUT} counts as not found: AnyBURL, PyClause",
}


def compare_protocols(
    engine: Engine,
    strategies: Sequence[Strategy],
    split: str = "test",
    **options: Any,
) -> pd.DataFrame:
    """Evaluate strategies under each protocol.

    Strategies are scored as they are: what was fitted was fitted under the default.

    Parameters
    ----------
    engine : Engine
    strategies : sequence of Strategy
        Fitted, where they need a fit.
    split : str
        ``"test"`` or ``"valid"``.
    **options
        ``top_x``, ``threads``, ``memory`` and ``quiet`` of `rank_split`.

    Returns
    -------
    DataFrame
        A row for each protocol and strategy, with ``protocol``, ``strategy``, the metrics and
        ``queries``, how many count.
    """
    import pandas as pd

    rows = []
    for protocol, ranks, value in _ranked(engine, strategies, split, options):
        means = [value(ranks, metric).mean(axis=(1, 2)) for metric in METRICS]
        for name, *found in zip(ranks.strategies, *means, strict=True):
            rows.append([protocol, name, *found, 2 * len(ranks.triples)])
    return pd.DataFrame(rows, columns=["protocol", "strategy", *METRICS, "queries"])


Value = Callable[[Ranks, str], np.ndarray]


def _ranked(
    engine: Engine, strategies: Sequence[Strategy], split: str, options: dict[str, Any]
) -> Iterator[tuple[str, Ranks, Value]]:
    """Yield each protocol with the ranks that it counts, and what it takes of each."""
    graph = engine.graph
    plain = rank_split(engine, split, strategies, **options)
    names = iter(PROTOCOLS)
    for ties in ("expected", "realistic", "optimistic", "pessimistic"):
        yield next(names), plain, partial(values, ties=ties)
    for order in (
        java_order(graph.entities),
        frequency_order(graph.train, len(graph.entities)),
    ):
        ranks = rank_split(engine, split, strategies, order=order, **options)
        yield next(names), ranks, values
    yield next(names), _without_unseen(plain, graph), values
    known = unconnected(graph, split)
    alone = rank_split(engine, split, strategies, known=known, **options)
    yield next(names), _without_linked(alone, graph), values
    yield next(names), plain, partial(values, cut=CUT)


def _without_unseen(ranks: Ranks, graph: Graph) -> Ranks:
    """Leave out the triples with an entity that train does not have."""
    seen = np.zeros(len(graph.entities), bool)
    seen[graph.train[:, [0, 2]]] = True
    keep = seen[ranks.triples[:, [0, 2]]].all(axis=1)
    return dataclasses.replace(
        ranks,
        triples=ranks.triples[keep],
        optimistic=ranks.optimistic[:, keep],
        pessimistic=ranks.pessimistic[:, keep],
    )


def unconnected(graph: Graph, split: str) -> Adjacency:
    """Return what is filtered if candidates linked with the query's entity in train are, too.

    Parameters
    ----------
    graph : Graph
    split : str
        The facts of the splits before it are filtered in any case.
    """
    before = [graph.split(name) for name in SPLITS[: SPLITS.index(split)]]
    links = graph.adjacency
    ends = links.segment_ptr[links.entity_ptr]
    triples = graph.split(split)
    for entity, other in ((0, 2), (2, 0)):
        query = np.unique(triples[:, [entity, 1]], axis=0)
        first, count = ends[query[:, 0]], np.diff(ends)[query[:, 0]]
        row = np.repeat(np.arange(len(query)), count)
        at = np.arange(len(row)) + np.repeat(first - np.cumsum(count) + count, count)
        linked = np.empty((len(row), 3), np.int32)
        linked[:, entity], linked[:, 1] = query[row].T
        linked[:, other] = links.neighbours[at]
        before.append(linked)
    return Adjacency.build(np.concatenate(before), len(graph.entities), len(graph.relations))


def _without_linked(ranks: Ranks, graph: Graph) -> Ranks:
    """Take the rank of targets that are linked with the query's entity in train."""
    pairs = np.sort(graph.train[:, [0, 2]].astype(np.int64), axis=1) @ [len(graph.entities), 1]
    asked = np.sort(ranks.triples[:, [0, 2]].astype(np.int64), axis=1) @ [len(graph.entities), 1]
    linked = np.isin(asked, pairs)
    return dataclasses.replace(
        ranks,
        optimistic=np.where(linked[:, None], 0, ranks.optimistic),
        pessimistic=np.where(linked[:, None], 0, ranks.pessimistic),
    )
