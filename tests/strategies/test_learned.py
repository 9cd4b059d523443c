"""The learned aggregator: its score by hand, its gradient by differences, what may enter it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import naive
import numpy as np
import pytest
from test_aggregation import RELATIONS, make_firings

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.ranking.targets import target_rows
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies import _learned
from kgagg.strategies.fitting import fit, load, slots
from kgagg.strategies.learned import DEPTH, Learned

CONFIDENCE = [0.9, 0.6, 0.5, 0.3, 0.2, 0.1]
BINS = 13


@pytest.fixture
def firings() -> Firings:
    """Two queries, one with two targets."""
    queries = Queries.from_triples(np.array([[0, 1, 2], [0, 1, 3], [4, 1, 2]], np.int32))
    predicted = [
        {2: [0, 3], 3: [1, 2, 5], 5: [2, 4], 6: [0, 4, 5]},
        {2: [1], 7: [0, 2]},
        {0: [1, 4], 4: [2, 3], 5: [3, 5]},
        {0: [0], 6: [1, 2]},
    ]
    return make_firings(queries, predicted, CONFIDENCE, best=DEPTH)


def test_the_score_is_the_discounted_sum_with_factors_and_bias(firings: Firings) -> None:
    generator = np.random.default_rng(0)
    factor, bias = generator.random(6), generator.random((2 * len(RELATIONS) + 1, BINS))
    # of tail queries of relation 1, entity 2 has facts and is in bin 4
    key, bins = np.array([2 * 8 + 2]), np.array([4], np.uint8)
    strategy = Learned(factor, bias, key, bins, 8, {})
    scores, slot = strategy.score(firings), slots(firings.queries)
    for query in range(len(firings.queries)):
        for row in range(*firings.query_ptr[query : query + 2]):
            rules = firings.rules[slice(*firings.rule_ptr[row : row + 2])]
            one = 4 if slot[query] == 2 and firings.candidate[row] == 2 else 0
            b = bias[slot[query], one] + bias[-1, one]
            assert scores[row] == pytest.approx(
                naive.learned(rules.tolist(), CONFIDENCE, factor.tolist(), b)
            )
            shares = strategy.contributions(rules, firings.confidence)
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
            _learned.learn(
                np.array([query]), firings.query_ptr, slots(queries), queries.target_ptr, row,
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


def make_engine(folder: Path, test: str = "a1\tr\tb2\n") -> Engine:
    """Twenty entities, of which valid shows that `good` predicts and the surer `bad` does not."""
    train, valid = [], []
    for i in range(20):
        train += [f"a{i}\tgood\tb{i % 7}", f"a{i}\tbad\tc{i % 5}", f"z{i}\tr\ty{i}"]
        valid += [f"a{i}\tr\tb{i % 7}"]
    folder.mkdir(exist_ok=True)
    (folder / "train.txt").write_text("\n".join(train) + "\n")
    (folder / "valid.txt").write_text("\n".join(valid) + "\n")
    (folder / "test.txt").write_text(test)
    (folder / "rules").write_text(
        "100\t60\t0.6\tr(X,Y) <= bad(X,Y)\n100\t50\t0.5\tr(X,Y) <= good(X,Y)\n"
    )
    graph = Graph.from_folder(folder)
    names = (graph.entities, graph.relations)
    return Engine(graph, RuleSet.read([folder / "rules"], names, Confidence.preset("anyburl")))


def test_rules_that_valid_contradicts_lose(tmp_path: Path) -> None:
    model = fit("learned", make_engine(tmp_path / "data"))
    assert isinstance(model, Learned)
    assert model.factor[0] < 1 < model.factor[1]
    curve = dict(model.report["curve"])
    assert curve[model.report["epochs"]] == max(curve.values())


def test_the_fit_depends_on_neither_threads_nor_test(tmp_path: Path) -> None:
    models = [
        fit("learned", make_engine(tmp_path / "one"), threads=1),
        fit("learned", make_engine(tmp_path / "one"), threads=2),
        fit("learned", make_engine(tmp_path / "two", test="a3\tr\tc3\nb1\tr\ta1\n"), threads=1),
    ]
    for other in models[1:]:
        for name, array in models[0].arrays().items():
            assert np.array_equal(array, other.arrays()[name]), name


def test_what_is_saved_is_what_was_fitted(tmp_path: Path) -> None:
    engine = make_engine(tmp_path / "data")
    model = fit("learned", engine)
    model.save(tmp_path / "model", engine.rules)
    again = load(tmp_path / "model", engine.rules.digest)
    assert again.report == model.report
    for name, array in model.arrays().items():
        assert np.array_equal(array, again.arrays()[name])
    other = dataclasses.replace(engine.rules, correct=engine.rules.correct + 1)
    with pytest.raises(InputError, match="fitted for other rules"):
        load(tmp_path / "model", other.digest)


def test_without_valid_there_is_nothing_to_fit(tmp_path: Path) -> None:
    engine = make_engine(tmp_path / "data")
    (tmp_path / "data" / "valid.txt").write_text("")
    graph = Graph.from_folder(tmp_path / "data")
    with pytest.raises(InputError, match="valid split, which is empty"):
        fit("learned", Engine(graph, engine.rules))
    with pytest.raises(InputError, match="no strategy that is fitted"):
        fit("learnt", engine)
