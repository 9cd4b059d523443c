"""Firings and ranks that are written down in a test, or drawn at random."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import naive
import numpy as np
from hypothesis import strategies as st

from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks

ENTITIES = Vocabulary.from_names(f"e{i}" for i in range(8))
RELATIONS = Vocabulary.from_names(f"r{i}" for i in range(3))

# the rules that predict each candidate, by query
Predicted = list[dict[int, list[int]]]


def make_firings(
    queries: Queries, predicted: Predicted, confidence: Sequence[float], best: int = 0
) -> Firings:
    """Firings as the engine gives them."""
    p = np.array(confidence)
    weight = -np.log1p(-p)
    rows, sizes = [], []
    for found in predicted:
        keys = {e: naive.max_plus(rules) for e, rules in found.items()}
        ordered = sorted(found, key=lambda e: keys[e], reverse=True)
        rows += [(e, sorted(found[e]), sum(keys[o] > keys[e] for o in found)) for e in ordered]
        sizes.append(len(found))
    kept = [rules[: best or None] for _, rules, _ in rows]
    return Firings(
        queries,
        np.cumsum([0, *sizes]),
        np.array([e for e, _, _ in rows], np.int32),
        np.array([len(rules) for _, rules, _ in rows], np.int32),
        np.array([sum(weight[r] for r in rules) for _, rules, _ in rows], np.float64),
        np.array([level for _, _, level in rows], np.int32),
        np.cumsum([0, *map(len, kept)]),
        np.array(list(itertools.chain.from_iterable(kept)), np.int32),
        p,
        weight,
    )


class Fired(NamedTuple):
    """Triples, the queries they make, what fires for them, and the confidences of six rules."""

    triples: np.ndarray
    queries: Queries
    predicted: Predicted
    confidence: list[float]

    @property
    def firings(self) -> Firings:
        """What the engine would give."""
        return make_firings(self.queries, self.predicted, self.confidence)


@st.composite
def fired(draw: st.DrawFn) -> Fired:
    """Firings of a few triples, with many ties."""
    names = st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 7))
    triples = np.array(draw(st.lists(names, min_size=1, max_size=6)), np.int32)
    queries = Queries.from_triples(triples)
    rules = st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True)
    found = st.dictionaries(st.integers(0, 7), rules, max_size=6)
    predicted = draw(st.lists(found, min_size=len(queries), max_size=len(queries)))
    # few values, so that different rules have equal confidences
    values = st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]), min_size=6, max_size=6)
    return Fired(triples, queries, predicted, sorted(draw(values), reverse=True))


def four_queries(confidence: Sequence[float], best: int = 0) -> Firings:
    """Four queries, one with two targets, for which six rules fire."""
    queries = Queries.from_triples(np.array([[0, 1, 2], [0, 1, 3], [4, 1, 2]], np.int32))
    predicted = [
        {2: [0, 3], 3: [1, 2, 5], 5: [2, 4], 6: [0, 4, 5]},
        {2: [1], 7: [0, 2]},
        {0: [1, 4], 4: [2, 3], 5: [3, 5]},
        {0: [0], 6: [1, 2]},
    ]
    return make_firings(queries, predicted, confidence, best)


# --- ranks -------------------------------------------------------------------------------------


def ranks_of(names: Sequence[str], triples: object, ranks: object) -> Ranks:
    """Ranks without ties, int[strategies, triples, 2], of these triples."""
    table = np.array(ranks, np.int32)
    rows = np.array(triples, np.int32).reshape(-1, 3)
    return Ranks(ENTITIES, RELATIONS, rows, tuple(names), table, table)


def make_ranks(optimistic: object, pessimistic: object | None = None, seed: int = 0) -> Ranks:
    """Ranks, int[strategies, triples, 2], of random triples; strategies are s0, s1, ..."""
    low = np.array(optimistic, np.int32)
    high = low if pessimistic is None else np.array(pessimistic, np.int32)
    generator = np.random.default_rng(seed)
    columns = [generator.integers(len(v), size=low.shape[1]) for v in (PEOPLE, DOES)]
    triples = np.stack([*columns, columns[0]], axis=1).astype(np.int32)
    names = tuple(f"s{i}" for i in range(len(low)))
    return Ranks(PEOPLE, DOES, triples, names, low, high)


DOES = Vocabulary.from_names(["likes", "knows", "owns"])
PEOPLE = Vocabulary.from_names(["ann", "bob", "two words", "d\u00e9", "eve"])


@st.composite
def tied_ranks(draw: st.DrawFn, ties: int = 5) -> Ranks:
    """Random ranks with ties, some of no target."""
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 6)), 2)
    size = int(np.prod(shape))
    low = np.array(draw(st.lists(st.integers(0, 12), min_size=size, max_size=size)))
    extra = np.array(draw(st.lists(st.integers(0, ties), min_size=size, max_size=size)))
    return make_ranks(low.reshape(shape), np.where(low > 0, low + extra, 0).reshape(shape))
