"""Scores against slow formulas on random firings."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from fired import Fired, fired, make_firings
from hypothesis import given

from kgagg.engine.queries import Queries
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import best_rules, score

NAMES = ["max", "max+", "noisy-or", "noisy-or-top-1", "noisy-or-top-3", "log-odds", "mean"]


@given(fired())
def test_scores_order_candidates_as_the_formulas_do(case: Fired) -> None:
    _, _, predicted, confidence = case
    firings = case.firings
    scores = score(firings, [strategy(name) for name in NAMES])
    assert scores.dtype == np.float64
    for name, row in zip(NAMES, scores, strict=True):
        for query, found in enumerate(predicted):
            part = slice(*firings.query_ptr[query : query + 2])
            mine = dict(zip(firings.candidate[part].tolist(), row[part].tolist(), strict=True))
            assert mine.keys() == found.keys()
            if name == "max+":
                keys = {e: naive.max_plus(rules) for e, rules in found.items()}
                for one, other in itertools.combinations(found, 2):
                    assert (mine[one] > mine[other]) == (keys[one] > keys[other])
                    assert (mine[one] == mine[other]) == (keys[one] == keys[other])
            else:
                scale = (lambda s: 1 - np.exp(-s)) if name.startswith("noisy-or") else float
                exact = {e: naive.aggregate(name, rules, confidence) for e, rules in found.items()}
                assert {e: scale(s) for e, s in mine.items()} == pytest.approx(exact)


@given(fired())
def test_noisy_or_top_h_is_between_and_grows_with_h(case: Fired) -> None:
    """Proposition 4.9, exactly: the last h is noisy-or bit for bit."""
    firings = case.firings
    by_h = score(firings, [strategy(f"noisy-or-top-{h}") for h in range(1, 8)])
    assert (np.diff(by_h, axis=0) >= 0).all()
    assert np.array_equal(by_h[0], -np.log1p(-score(firings, [strategy("max")])[0]))
    assert by_h[-1] == pytest.approx(firings.strength, rel=1e-15)


def test_one_pass_for_many_h_is_each_h_alone_in_any_order() -> None:
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1, 2], 3: [2]}, {0: [1]}], [0.9, 0.5, 0.1], best=3)
    names = ["noisy-or-top-3", "noisy-or-top-1", "max", "noisy-or-top-2", "noisy-or-top-1"]
    together = score(firings, [strategy(name) for name in names])
    assert np.array_equal(together, [strategy(name).score(firings) for name in names])


def test_the_number_of_rules_to_keep() -> None:
    assert best_rules([strategy(n) for n in ("max", "noisy-or", "noisy-or-top-7")]) == 7
    assert best_rules([strategy(n) for n in ("max", "mean")]) == 0
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1, 2]}, {}], [0.9, 0.5, 0.1], best=2)
    score(firings, [strategy("noisy-or-top-2")])
    for name in ("noisy-or-top-3", "mean", "log-odds"):
        with pytest.raises(ValueError, match="expected firings with the best"):
            score(firings, [strategy(name)])
