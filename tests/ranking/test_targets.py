"""Ranks of targets among the candidates of a query, against an oracle, and orders of ties."""

from __future__ import annotations

import itertools

import naive
import numpy as np
from fired import ENTITIES, RELATIONS, Fired, fired, make_firings
from hypothesis import given
from hypothesis import strategies as st

from kgagg.engine.queries import Queries
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.targets import TieOrder, frequency_order, java_order, rank_targets
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import rank_all, score


@given(fired(), st.booleans())
def test_ranks_of_targets_agree_with_the_oracle(case: Fired, by_priority: bool) -> None:
    queries, firings = case.queries, case.firings
    chosen = [strategy(name) for name in ("max", "noisy-or-top-2", "mean")]
    scores = score(firings, chosen)
    priority = np.array([3, 1, 2, 0, 1, 4, 4, 5], np.int32) if by_priority else None
    order = None if priority is None else TieOrder(priority)
    optimistic, pessimistic = rank_targets(firings, scores, order)
    for s, query in itertools.product(range(len(chosen)), range(len(queries))):
        part = slice(*firings.query_ptr[query : query + 2])
        found = {
            e: (value, 0 if priority is None else -priority[e])
            for e, value in zip(firings.candidate[part], scores[s, part], strict=True)
        }
        ordered = sorted(set(found.values()))
        by_entity = {e: float(ordered.index(key)) for e, key in found.items()}
        targets = range(*queries.target_ptr[query : query + 2])
        answers = {queries.target[t] for t in targets}
        for t in targets:
            own = queries.target[t]
            expected = naive.filtered_ranks(by_entity, own, answers - {own})
            assert (optimistic[s, t], pessimistic[s, t]) == expected

    whole = rank_all([firings], chosen, case.triples, ENTITIES, RELATIONS, order)
    direction = np.repeat(queries.direction, np.diff(queries.target_ptr))
    assert np.array_equal(whole.optimistic[:, queries.triple, direction], optimistic)
    assert np.array_equal(whole.pessimistic[:, queries.triple, direction], pessimistic)


def test_frequent_entities_come_first_then_low_numbers() -> None:
    train = np.array([[1, 0, 1], [2, 0, 3], [4, 0, 3]], np.int32)
    assert np.argsort(frequency_order(train, 6).priority).tolist() == [1, 3, 2, 4, 0, 5]


def test_the_order_of_a_hash_set_of_java() -> None:
    # what "hello".hashCode() and "polygenelubricants".hashCode() give, and a pair of surrogates
    names = ["hello", "polygenelubricants", "\N{GRINNING FACE}"]
    codes = [99162322, -(2**31), 31 * 0xD83D + 0xDE00]
    spread = [(code & 0xFFFFFFFF) ^ (code & 0xFFFFFFFF) >> 16 for code in codes]
    order = java_order(Vocabulary.from_names(names))
    assert order.hashed
    assert order.priority.tolist() == [code & 0x7FFFFFFF for code in spread]


@given(st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=60), st.integers(0, 59))
def test_tied_candidates_stand_in_the_buckets_of_a_table(codes: list[int], target: int) -> None:
    target %= len(codes)
    queries = Queries.from_triples(np.array([[len(codes), 0, target]], np.int32))
    everyone = {entity: [0] for entity in range(len(codes))}
    firings = make_firings(queries, [everyone, {}], [0.5])
    order = TieOrder(np.array(codes, np.int32), hashed=True)
    ranks = rank_targets(firings, np.zeros((1, len(codes))), order)
    buckets = 16
    while len(codes) > 0.75 * buckets:
        buckets *= 2
    place = [code % buckets for code in codes]
    before = sum(other < place[target] for other in place)
    same = place.count(place[target])
    assert [int(rank[0, 0]) for rank in ranks] == [1 + before, before + same]
