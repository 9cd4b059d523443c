"""Relation prediction: which relations hold between a head and a tail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.queries import MISSING, Queries
from kgagg.errors import InputError, at_least
from kgagg.graph.adjacency import Adjacency
from kgagg.prediction.answers import Answers, answer
from kgagg.prediction.rankings import Candidates
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score

# queries that are made at once
_QUERIES = 1 << 16


def answer_patterns(
    engine: Engine,
    patterns: np.ndarray,
    strategy: Strategy,
    *,
    top_x: int = 200,
    allowed: np.ndarray | None = None,
    **options: Any,
) -> Iterator[Answers]:
    """Yield the answers to queries for heads, tails or relations.

    Parameters
    ----------
    engine, strategy, top_x, allowed
        See `answer`; the last two are of no use for relations.
    patterns : int32[n, 3]
        What is predicted is `MISSING`: the relation, in all rows or in none, or the head or the
        tail (see `Queries.from_patterns`).
    **options
        See `answer`.

    Raises
    ------
    InputError
        If some queries are for relations, and others are not.
    """
    relations = patterns[:, 1] == MISSING
    if not relations.any():
        queries = Queries.from_patterns(patterns)
        return answer(engine, queries, strategy, top_x=top_x, allowed=allowed, **options)
    if not relations.all():
        raise InputError("queries for relations and for entities: expected one kind only")
    return rank_relations(engine, patterns[:, ::2], strategy, **options)


def rank_relations(
    engine: Engine,
    pairs: np.ndarray,
    strategy: Strategy,
    *,
    top_k: int = 100,
    show_known: bool = False,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Iterator[Answers]:
    """Yield the relations that may hold between a head and a tail, for one pair after the other.

    A relation has the score of the triple that it makes, the higher one of both queries; of equal
    ones that with the smaller number comes first.

    Parameters
    ----------
    engine : Engine
    pairs : int32[n, 2]
        Head and tail.
    strategy : Strategy
    top_k : int
        The most relations for a pair; 0 for all.
    show_known : bool
        Relations that are known to hold are answers too. Otherwise the facts of all splits are
        filtered.
    threads, memory, quiet
        See `Engine.apply`.
    """
    at_least("top_k", top_k, 0)
    graph = engine.graph
    facts = graph.facts
    possible = np.unique(engine.rules.relation).astype(np.int32)
    size = max(1, _QUERIES // (2 * max(1, len(possible))))
    for start in range(0, len(pairs), size):
        block = pairs[start : start + size]
        triples = np.empty((len(block), len(possible), 3), np.int32)
        triples[:, :, ::2], triples[:, :, 1] = block[:, None], possible
        flat = triples.reshape(-1, 3)
        scores = _scores(engine, flat, strategy, threads, memory, quiet).reshape(len(block), -1)
        known = facts.contains(flat).reshape(scores.shape)
        if not show_known:
            scores[known] = np.nan
        for (head, tail), own, old in zip(block.tolist(), scores, known, strict=True):
            # no score sorts last
            best = np.argsort(-own, kind="stable")[: np.count_nonzero(~np.isnan(own))]
            best = best[: top_k or None]
            yield Answers(head, MISSING, tail, Candidates(possible[best], own[best]), old[best])


def likely_relations(
    engine: Engine, head: str, tail: str, strategy: Strategy, top_k: int = 5
) -> list[tuple[str, float]]:
    """Return the best new relations between two entities by name, with their scores.

    Raises
    ------
    InputError
        If a name is not in the graph, or no rule predicts a relation that is not known.
    """
    pair = [[engine.graph.entities.require(name, "entity") for name in (head, tail)]]
    (found,) = rank_relations(engine, np.array(pair, np.int32), strategy, top_k=top_k, threads=1)
    if not len(found.known):
        raise InputError(f"no rule predicts a new relation between {head} and {tail}")
    names = (engine.graph.relations[number] for number in found.candidates.entity.tolist())
    return list(zip(names, found.candidates.score.tolist(), strict=True))


def _scores(
    engine: Engine,
    triples: np.ndarray,
    strategy: Strategy,
    threads: int | None,
    memory: int | None,
    quiet: bool,
) -> np.ndarray:
    """Score each triple by the rules that predict it, NaN if none does: float64[n]."""
    size = len(engine.graph.entities), len(engine.graph.relations)
    chunks = engine.apply(
        Queries.from_patterns(triples),
        Adjacency.build(triples[:0], *size),
        # nothing but the target matters
        allowed=np.zeros((2, size[0]), np.bool_),
        top_x=0,
        best=strategy.best,
        complete=strategy.complete,
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    scores = np.full(len(triples), np.nan)
    for firings in chunks:
        shown = strategy.display(firings, score(firings, [strategy])[0])
        # a query has one target, and so at most one candidate
        query = np.repeat(np.arange(len(firings.queries)), np.diff(firings.query_ptr))
        np.fmax.at(scores, firings.queries.triple[query], shown)
    return scores
