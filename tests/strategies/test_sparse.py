"""The sparse aggregator: its score by hand, its gradient by differences, training that resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from test_aggregation import make_firings
from test_learned import make_engine

from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.strategies import _sparse
from kgagg.strategies import sparse as module
from kgagg.strategies.fitting import fit, load
from kgagg.strategies.sparse import Sparse, _softmax

CONFIDENCE = [0.9, 0.6, 0.5, 0.3, 0.2, 0.1]


@pytest.fixture
def firings() -> Firings:
    """Four queries, one with two targets."""
    queries = Queries.from_triples(np.array([[0, 1, 2], [0, 1, 3], [4, 1, 2]], np.int32))
    predicted = [
        {2: [0, 3], 3: [1, 2, 5], 5: [2, 4], 6: [0, 4, 5]},
        {2: [1], 7: [0, 2]},
        {0: [1, 4], 4: [2, 3], 5: [3, 5]},
        {0: [0], 6: [1, 2]},
    ]
    return make_firings(queries, predicted, CONFIDENCE)


def test_the_greatest_share_of_each_dimension_counts() -> None:
    """E34: .6 with weights (.9, .1), .5 with (.2, .8)."""
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1]}, {0: [0]}], [0.6, 0.5])
    weight = np.tile(np.array([[0.9, 0.1], [0.2, 0.8]], np.float32), (2, 1, 1))
    strategy = Sparse(weight, {})
    scores = strategy.score(firings)
    assert strategy.value(firings, scores)[0] == pytest.approx(0.724, abs=1e-6)
    shares = strategy.contributions(np.arange(2), firings.confidence)
    assert shares.sum() == pytest.approx(scores[0], abs=1e-6)
    assert strategy.groups(np.arange(2)) == ["dimension 1", "dimension 2"]


def test_scores_are_the_formula(firings: Firings) -> None:
    weight = _softmax(np.random.default_rng(0).normal(size=(6, 4)))
    table = np.stack([weight, weight[::-1]]).astype(np.float32)
    scores = Sparse(table, {}).score(firings)
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
    engine = make_engine(tmp_path / "one")
    models = [
        fit("sparse", engine, threads=1),
        fit("sparse", engine, threads=2),
        fit("sparse", make_engine(tmp_path / "two", test="a3\tr\tc3\nb1\tr\ta1\n")),
    ]
    for other in models[1:]:
        assert np.array_equal(models[0].arrays()["weight"], other.arrays()["weight"])
    models[0].save(tmp_path / "model", engine.rules)
    again = load(tmp_path / "model", engine.rules.digest)
    assert np.array_equal(again.arrays()["weight"], models[0].arrays()["weight"])


def test_training_that_was_stopped_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(tmp_path / "data")
    valid = module._train_firings(engine, 1, 1, True)
    options: dict[str, Any] = {"seed": 0, "threads": 1, "quiet": True}
    whole = Sparse.fit(engine, valid, **options)
    with monkeypatch.context() as patch:
        patch.setattr(module, "EPOCHS", 4)
        Sparse.fit(engine, valid, **options, state=tmp_path / "state")
    rest = Sparse.fit(engine, valid, **options, state=tmp_path / "state")
    assert rest.report == whole.report
    assert np.array_equal(rest.weight, whole.weight)
