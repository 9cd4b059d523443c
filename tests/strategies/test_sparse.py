"""The sparse aggregator: its score by hand, its gradient by differences, training that resumes."""

from __future__ import annotations

from pathlib import Path

import naive
import numpy as np
import pytest
from fired import four_queries, make_firings
from small import good_and_bad

from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.strategies import _sparse
from kgagg.strategies import sparse as module
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import open_strategy
from kgagg.strategies.sparse import Sparse, _softmax

CONFIDENCE = [0.9, 0.6, 0.5, 0.3, 0.2, 0.1]


@pytest.fixture
def firings() -> Firings:
    return four_queries(CONFIDENCE)


def test_the_greatest_share_of_each_dimension_counts() -> None:
    """As docs/fitted.md defines it, for .6 with shares (.9, .1) and .5 with (.2, .8)."""
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1]}, {0: [0]}], [0.6, 0.5])
    weight = np.tile(np.array([[0.9, 0.1], [0.2, 0.8]], np.float32), (2, 1, 1))
    strategy = Sparse.fitted_with({}, weight=weight)
    scores = strategy.score(firings)
    assert strategy.display(firings, scores)[0] == pytest.approx(0.724, abs=1e-6)
    shares = strategy.contributions(np.arange(2), firings.confidence)
    assert shares.sum() == pytest.approx(scores[0], abs=1e-6)
    assert strategy.groups(np.arange(2)) == ["dimension 1", "dimension 2"]


def test_scores_are_the_formula(firings: Firings) -> None:
    weight = _softmax(np.random.default_rng(0).normal(size=(6, 4)))
    table = np.stack([weight, weight[::-1]]).astype(np.float32)
    scores = Sparse.fitted_with({}, weight=table).score(firings)
    for query, direction in enumerate(firings.queries.direction):
        for row in range(*firings.query_ptr[query : query + 2]):
            rules = firings.rules[slice(*firings.rule_ptr[row : row + 2])].tolist()
            exact = naive.sparse(rules, CONFIDENCE, table[direction].tolist())
            assert 1 - np.exp(-scores[row]) == pytest.approx(exact)


def test_steps_follow_the_gradient(firings: Firings) -> None:
    """With great sums of squares a step of Adagrad is the gradient, up to a constant."""
    start = np.random.default_rng(1).normal(size=(6, 4))
    queries = firings.queries

    def run(query: int, rate: float, embedding: np.ndarray) -> float:
        return float(
            _sparse.train(
                np.array([query]), firings.query_ptr, firings.candidate, queries.target_ptr,
                queries.target, firings.rule_ptr, firings.rules, firings.confidence, 50, 0.1,
                rate, embedding, np.full(embedding.shape, 1e16), _softmax(embedding),
                np.zeros(embedding.shape),
            )
        )  # fmt: skip

    for query in range(len(queries)):
        moved = start.copy()
        run(query, 1e8, moved)
        for at in np.ndindex(start.shape):
            near = start.copy(), start.copy()
            near[0][at] += 1e-6
            near[1][at] -= 1e-6
            slope = (run(query, 0.0, near[0]) - run(query, 0.0, near[1])) / 2e-6
            assert start[at] - moved[at] == pytest.approx(slope, abs=2e-5)


# --- fitting -----------------------------------------------------------------------------------


def test_the_fit_depends_on_neither_threads_nor_test(tmp_path: Path) -> None:
    engine = good_and_bad(tmp_path / "one")
    models = [
        Sparse().fit(Fitting(engine, threads=1)),
        Sparse().fit(Fitting(engine, threads=2)),
        Sparse().fit(Fitting(good_and_bad(tmp_path / "two", test="a3\tr\tc3\nb1\tr\ta1\n"))),
    ]
    for other in models[1:]:
        assert np.array_equal(models[0].arrays()["weight"], other.arrays()["weight"])
    models[0].save(tmp_path / "model", engine.names)
    again = open_strategy(tmp_path / "model", engine.names)
    assert np.array_equal(again.arrays()["weight"], models[0].arrays()["weight"])


def test_training_that_was_stopped_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = good_and_bad(tmp_path / "data")
    whole = Sparse().fit(Fitting(engine, threads=1))
    resumed = Fitting(engine, threads=1, state=tmp_path / "state")
    with monkeypatch.context() as patch:
        patch.setattr(module, "EPOCHS", 4)
        Sparse().fit(resumed)
    rest = Sparse().fit(resumed)
    assert rest.report == whole.report
    assert np.array_equal(rest.weight, whole.weight)
