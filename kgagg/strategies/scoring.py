"""Score candidates and rank targets by several strategies in one pass."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.files import FiringsFile
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import NotFittedError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.known import known_before
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.targets import TieOrder, rank_targets
from kgagg.strategies.base import Strategy
from kgagg.util.machine import processors
from kgagg.util.timing import Stopwatch


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
    watch, threads = watch or Stopwatch(), threads or processors()
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


def rank_split(
    engine: Engine,
    split: str,
    strategies: Sequence[Strategy],
    *,
    top_x: int = 200,
    threads: int | None = None,
    memory: int | None = None,
    known: Adjacency | None = None,
    order: TieOrder | None = None,
    watch: Stopwatch | None = None,
    quiet: bool = True,
) -> Ranks:
    """Apply the rules to the queries of a split, and rank their targets by each strategy.

    Parameters
    ----------
    engine : Engine
    split : str
        ``"valid"`` or ``"test"``.
    strategies : sequence of Strategy
    top_x, threads, memory, quiet
        See `Engine.apply`.
    known : Adjacency, optional
        What is filtered; the facts of the splits before this one by default.
    order : TieOrder, optional
        See `rank_targets`.
    watch : Stopwatch, optional
        See `rank_all`.
    """
    graph = engine.graph
    triples = graph.split(split)
    chunks = engine.apply(
        Queries.from_triples(triples),
        known_before(graph, split) if known is None else known,
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
        See `kgagg.engine.files`.
    strategies : sequence of Strategy
    order, watch, threads
        See `rank_all`.

    Raises
    ------
    InputError
        If the file does not have all queries, or keeps fewer rules than a strategy reads.
    """
    file = FiringsFile(path)
    for one in strategies:
        file.expect_rules(one.best, one.name)
    names = (file.entities, file.relations)
    return rank_all(file.chunks(), strategies, file.triples, *names, order, watch, threads)


def best_rules(strategies: Sequence[Strategy]) -> int:
    """Return how many rules of a candidate must be kept for all of `strategies`; 0 means all."""
    needed = [one.best for one in strategies]
    return 0 if 0 in needed else max(needed, default=1)


def score(firings: Firings, strategies: Sequence[Strategy]) -> np.ndarray:
    """Return the scores of all candidates by each strategy: float64[strategies, candidates].

    Raises
    ------
    NotFittedError
        If a strategy needs a fit that it did not have.
    ValueError
        If the firings keep fewer rules than a strategy reads.
    """
    for one in strategies:
        if not one.fitted:
            raise NotFittedError(one.name)
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
