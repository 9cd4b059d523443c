"""From scores to the ranks of targets."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from kgagg.aggregation import _kernels
from kgagg.aggregation.registry import Strategy, best_rules, score
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Firings, Queries
from kgagg.engine.parquet import FiringsFile
from kgagg.errors import InputError
from kgagg.evaluation import Ranks
from kgagg.graph import SPLITS, Adjacency, Graph
from kgagg.timing import Stopwatch
from kgagg.vocabulary import Vocabulary


class TieOrder(NamedTuple):
    """Which of several candidates with the same score comes first.

    Attributes
    ----------
    priority : int32[entities]
        Not negative; the lower one comes first, equal ones stay tied.
    hashed : bool
        Priorities are hash codes: what comes first is told by the bucket of a table of Java that
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
        0 for a target that is no candidate.
    """
    queries = firings.queries
    ranks = np.zeros((2, len(scores), len(queries.target)), np.int32)
    _kernels.rank_targets(
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
    _kernels.target_rows(
        firings.query_ptr, firings.candidate, queries.target_ptr, queries.target, rows
    )
    return rows


def frequency_order(train: np.ndarray, entities: int) -> TieOrder:
    """Return PyClause's order of tied candidates: frequent in train first, then by number.

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
    """Return AnyBURL's order of tied candidates, which stand in a hash set of Java.

    Names of which the codes meet in a bucket stay tied: they come as they went in.
    """
    codes = []
    for name in entities.names():
        code, units = 0, name.encode("utf-16-le")
        for low, high in zip(units[::2], units[1::2], strict=True):
            code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
        codes.append(code ^ code >> 16)
    return TieOrder(np.array(codes, np.int64).astype(np.uint32).astype(np.int32) & 0x7FFFFFFF, True)


def rank_all(
    chunks: Iterable[Firings],
    strategies: Sequence[Strategy],
    triples: np.ndarray,
    entities: Vocabulary,
    relations: Vocabulary,
    order: TieOrder | None = None,
    watch: Stopwatch | None = None,
    threads: int | None = None,
) -> Ranks:
    """Rank the targets of all queries made from `triples`, chunk by chunk.

    Parameters
    ----------
    chunks : iterable of Firings
        Together they answer ``Queries.from_triples(triples)``.
    strategies : sequence of Strategy
    triples : int32[n, 3]
    entities, relations : Vocabulary
    order : TieOrder, optional
        See `rank_targets`.
    watch : Stopwatch, optional
        Takes the time to get the chunks as ``apply``, and what it takes longer to rank them as
        ``aggregate``.
    threads : int, optional
        All processors by default.
    """
    watch, threads = watch or Stopwatch(), threads or len(os.sched_getaffinity(0))
    ranks = np.zeros((2, len(strategies), len(triples), 2), np.int32)

    def place(firings: Firings) -> None:
        queries = firings.queries
        direction = np.repeat(queries.direction, np.diff(queries.target_ptr))
        found = rank_targets(firings, score(firings, strategies), order)
        for rank, part in zip(ranks, found, strict=True):
            rank[:, queries.triple, direction] = part

    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for firings in watch.each("apply", chunks):
            waiting.append(pool.submit(place, firings))
            with watch.stage("aggregate"):
                while len(waiting) >= threads:
                    waiting.popleft().result()
        with watch.stage("aggregate"):
            for rest in waiting:
                rest.result()
    return Ranks(entities, relations, triples, tuple(s.name for s in strategies), *ranks)


def known_before(graph: Graph, split: str) -> Adjacency:
    """Return the facts of the splits before `split`, which are no candidates for its queries.

    So nothing of test enters the ranks on valid.
    """
    before = [graph.train[:0], *(graph.split(name) for name in SPLITS[: SPLITS.index(split)])]
    return Adjacency.build(np.concatenate(before), len(graph.entities), len(graph.relations))


def rank_split(
    engine: Engine,
    split: str,
    strategies: Sequence[Strategy],
    *,
    top_x: int = 200,
    threads: int | None = None,
    memory: int | None = None,
    order: TieOrder | None = None,
    watch: Stopwatch | None = None,
    quiet: bool = True,
) -> Ranks:
    """Apply the rules to the queries of a split, and rank their targets by each strategy.

    Known facts are those of the splits before this one.

    Parameters
    ----------
    engine : Engine
    split : str
        ``"valid"`` or ``"test"``.
    strategies : sequence of Strategy
    top_x, threads, memory, quiet
        See `Engine.apply`.
    order : TieOrder, optional
        See `rank_targets`.
    watch : Stopwatch, optional
        See `rank_all`.
    """
    graph = engine.graph
    triples = graph.split(split)
    chunks = engine.apply(
        Queries.from_triples(triples),
        known_before(graph, split),
        top_x=top_x,
        best=best_rules(strategies),
        complete=any(one.complete for one in strategies),
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    names = (graph.entities, graph.relations)
    return rank_all(chunks, strategies, triples, *names, order, watch, threads)


def rank_file(
    path: str | os.PathLike[str],
    strategies: Sequence[Strategy],
    order: TieOrder | None = None,
    watch: Stopwatch | None = None,
    threads: int | None = None,
) -> Ranks:
    """Rank the targets of the queries whose firings are in a file, by each strategy.

    Parameters
    ----------
    path : path
        See `kgagg.engine.parquet`.
    strategies : sequence of Strategy
    order, watch, threads
        See `rank_all`.

    Raises
    ------
    InputError
        If the file does not have all queries, or keeps fewer rules than a strategy reads.
    """
    file = FiringsFile(path)
    kept, needed = file.settings["best"], best_rules(strategies)
    if kept and not 0 < needed <= kept:
        name = next(one.name for one in strategies if not 0 < one.best <= kept)
        raise InputError(f"{path}: has the best {kept} rules of a candidate, {name} reads more")
    names = (file.entities, file.relations)
    return rank_all(file.chunks(), strategies, file.triples, *names, order, watch, threads)
