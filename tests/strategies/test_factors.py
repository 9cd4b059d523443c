"""The learned aggregator: its score by hand, its gradient by differences, what may enter it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from fired import RELATIONS, four_queries
from small import good_and_bad

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.ranking.targets import target_rows
from kgagg.strategies import _factors
from kgagg.strategies.factors import DEPTH, Factors
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import fit_all, open_strategy, strategy

CONFIDENCE = [0.9, 0.6, 0.5, 0.3, 0.2, 0.1]
BINS = 13


@pytest.fixture
def firings() -> Firings:
    return four_queries(CONFIDENCE, best=DEPTH)


def test_the_score_is_the_discounted_sum_with_factors_and_bias(firings: Firings) -> None:
    generator = np.random.default_rng(0)
    factor, bias = generator.random(6), generator.random((2 * len(RELATIONS) + 1, BINS))
    # of tail queries of relation 1, entity 2 has facts and is in bin 4
    key, bins = np.array([2 * 8 + 2]), np.array([4], np.uint8)
    parts = {"factor": factor, "bias": bias, "key": key, "bin": bins, "entities": 8}
    factors = Factors.fitted_with({}, **parts)
    scores, slot = factors.score(firings), firings.queries.slots
    for query in range(len(firings.queries)):
        for row in range(*firings.query_ptr[query : query + 2]):
            rules = firings.rules[slice(*firings.rule_ptr[row : row + 2])]
            one = 4 if slot[query] == 2 and firings.candidate[row] == 2 else 0
            b = bias[slot[query], one] + bias[-1, one]
            assert scores[row] == pytest.approx(
                naive.factors(rules.tolist(), CONFIDENCE, factor.tolist(), b)
            )
            shares = factors.contributions(rules, firings.confidence)
            assert shares.sum() + b == pytest.approx(scores[row])


def test_steps_follow_the_gradient(firings: Firings) -> None:
    """With great sums of squares a step of Adagrad is the gradient, up to a constant."""
    generator = np.random.default_rng(1)
    queries = firings.queries
    row = target_rows(firings)
    group = np.stack([np.arange(6), np.arange(6) % 2], axis=1).astype(np.int32)
    change = generator.normal(0, 0.3, (2, 6))
    bias = generator.normal(0, 0.3, (2 * len(RELATIONS) + 1, BINS))
    bins = generator.integers(0, 3, len(firings)).astype(np.uint8)
    used = np.ones(len(row), np.bool_)
    used[-1] = False

    def run(query: int, rate: float, change: np.ndarray, bias: np.ndarray) -> float:
        return float(
            _factors.learn(
                np.array([query]), firings.query_ptr, queries.slots, queries.target_ptr, row,
                used, firings.rule_ptr, firings.rules, firings.weight, 0.8 ** np.arange(DEPTH),
                bins, group, 2.0, np.full(3, rate), change, np.full(change.shape, 1e16), bias,
                np.full(bias.shape, 1e16),
            )
        )  # fmt: skip

    for query in range(len(queries)):
        moved = change.copy(), bias.copy()
        run(query, 1e8, *moved)
        for which, values in enumerate((change, bias)):
            for at in np.ndindex(values.shape):
                near = [[change.copy(), bias.copy()] for _ in range(2)]
                near[0][which][at] += 1e-6
                near[1][which][at] -= 1e-6
                slope = (run(query, 0.0, *near[0]) - run(query, 0.0, *near[1])) / 2e-6
                assert values[at] - moved[which][at] == pytest.approx(slope, abs=1e-5)


# --- fitting -----------------------------------------------------------------------------------


def fit(engine: Engine, **options: Any) -> Factors:
    return Factors().fit(Fitting(engine, **options))


def test_rules_that_valid_contradicts_lose(tmp_path: Path) -> None:
    model = fit(good_and_bad(tmp_path / "data"))
    assert model.factor[0] < 1 < model.factor[1]
    assert model.report is not None
    curve = dict(model.report["curve"])
    assert curve[model.report["epochs"]] == max(curve.values())


def test_the_fit_depends_on_neither_threads_nor_test(tmp_path: Path) -> None:
    models = [
        fit(good_and_bad(tmp_path / "one"), threads=1),
        fit(good_and_bad(tmp_path / "one"), threads=2),
        fit(good_and_bad(tmp_path / "two", test="a3\tr\tc3\nb1\tr\ta1\n"), threads=1),
    ]
    for other in models[1:]:
        for name, array in models[0].arrays().items():
            assert np.array_equal(array, other.arrays()[name]), name


def test_what_is_saved_is_what_was_fitted(tmp_path: Path) -> None:
    engine = good_and_bad(tmp_path / "data")
    model = fit(engine)
    model.save(tmp_path / "model", engine.names)
    again = open_strategy(tmp_path / "model", engine.names)
    assert again.report == model.report
    for name, array in model.arrays().items():
        assert np.array_equal(array, again.arrays()[name])
    other = dataclasses.replace(engine.rules, correct=engine.rules.correct + 1)
    with pytest.raises(InputError, match="fitted with other rules"):
        open_strategy(tmp_path / "model", engine.names._replace(rules=other.digest))


def test_without_valid_there_is_nothing_to_fit(tmp_path: Path) -> None:
    engine = good_and_bad(tmp_path / "data")
    (tmp_path / "data" / "valid.txt").write_text("")
    graph = Graph.from_folder(tmp_path / "data")
    with pytest.raises(InputError, match="valid split, which is empty"):
        fit_all([strategy("factors")], Fitting(Engine(graph, engine.rules)))
    with pytest.raises(InputError, match=r"unknown strategy 'learnt', .*; did you mean learned"):
        strategy("learnt")
