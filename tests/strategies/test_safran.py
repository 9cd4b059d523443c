"""SAFRAN: clusters at all thresholds at once, against clusters one threshold at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import naive
import numpy as np
import pytest
from fired import RELATIONS, Fired, fired, make_firings
from hypothesis import given
from hypothesis import strategies as st
from small import good_and_bad

from kgagg.engine.queries import Queries
from kgagg.ranking.targets import reciprocal_ranks
from kgagg.strategies import _safran
from kgagg.strategies import safran as module
from kgagg.strategies.fitting import Fitting, shrunk
from kgagg.strategies.registry import open_strategy
from kgagg.strategies.safran import LEVELS, Safran

SLOTS = 2 * len(RELATIONS)


def with_clusters(cluster: np.ndarray, max_plus: np.ndarray) -> Safran:
    """A strategy as it was fitted."""
    return Safran.fitted_with({}, cluster=cluster, max_plus=max_plus)


def test_the_best_of_a_cluster_counts() -> None:
    """As docs/fitted.md defines it, for .6 and .5 in one cluster and .2 alone."""
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1, 2]}, {0: [0]}], [0.6, 0.5, 0.2])
    cluster = np.array([[4, 4, 1], [0, 1, 2]], np.int32)
    one = with_clusters(cluster, np.zeros(SLOTS, np.bool_))
    assert 1 - np.exp(-one.score(firings)) == pytest.approx([0.68, 0.6])
    assert 1 - np.exp(-one.contributions(np.arange(3), firings.confidence)) == pytest.approx(
        [0.6, 0.0, 0.2]
    )
    assert one.groups(np.arange(3)) == ["cluster 1", "cluster 1", "cluster 2"]
    assert one.choice(0, 1).groups(np.arange(3)) == ["cluster 1", "cluster 2", "cluster 3"]
    assert one.display(firings, one.score(firings)) == pytest.approx([0.68, 0.6])
    every = with_clusters(cluster, np.ones(SLOTS, np.bool_))
    assert every.choice(0, 1).name == "max+"
    assert np.array_equal(every.score(firings), -firings.level)


@given(st.integers(1, 9), st.sampled_from([1, 3, 9]), st.integers(0, 2**32 - 1))
def test_neighbours_in_the_order_are_the_clusters_at_each_threshold(
    n: int, compared: int, seed: int
) -> None:
    """The first `compared` rules with each other, and each other one with the closest of them."""
    generator = np.random.default_rng(seed)
    hashes = 8
    sketches = generator.integers(0, 3, (n, hashes)).astype(np.uint16)
    kind = generator.integers(0, 3, n).astype(np.uint8)
    half = generator.choice([0.5, 1.0], (3, 3))
    scale = np.minimum(half, half.T)
    number = np.arange(n, dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMPARED", compared)
        ((order, gap),) = module._block_orders(sketches.view(np.uint64), number, kind, [scale])
    assert sorted(order) == list(range(n))
    assert gap[0] == 0
    same = (sketches[:, None] == sketches[None]).sum(axis=2)
    similarity = np.floor(same * scale[kind[:, None], kind[None]])
    for i in range(compared, n):
        # of each kind the most similar, and of these the one that joins at the highest level
        closest = [
            max(np.flatnonzero(kind[:compared] == k), key=lambda j: same[i, j])
            for k in np.unique(kind[:compared])
        ]
        other = max(closest, key=lambda j: similarity[i, j])
        level = similarity[i, other]
        similarity[i] = similarity[:, i] = 0
        similarity[i, other] = similarity[other, i] = level
    for threshold in range(hashes + 1):
        label = np.empty(n, np.int64)
        label[order] = np.cumsum(gap <= threshold)
        expected = np.array(naive.single_linkage(similarity.tolist(), threshold))
        assert np.array_equal(label[:, None] == label[None], expected[:, None] == expected[None])


@given(fired(), st.integers(0, 2**32 - 1))
def test_one_sweep_is_each_threshold_alone(case: Fired, seed: int) -> None:
    firings = case.firings
    generator = np.random.default_rng(seed)
    place = generator.permutation(6).astype(np.int32)
    gap = np.append(0, generator.choice([0, 1, 50, 120, LEVELS], 5)).astype(np.uint8)
    with ThreadPoolExecutor(1) as pool:
        found = module._sweep(firings, place, gap, pool)
    for level in (0, 1, 49, 50, 119, 120, LEVELS - 1, LEVELS):
        label = np.cumsum(gap <= level)[place].astype(np.int32)
        strategy = with_clusters(np.stack([label, label]), np.zeros(SLOTS, np.bool_))
        scores = strategy.score(firings)
        assert found[:, level] == pytest.approx(reciprocal_ranks(firings, scores[None])[0])
        exact = [
            naive.safran(rules.tolist(), case.confidence, label.tolist())
            for rules in np.split(firings.rules, firings.rule_ptr[1:-1])
        ]
        assert 1 - np.exp(-scores) == pytest.approx(exact[: len(scores)])


def test_sketches_estimate_the_jaccard_index() -> None:
    generator = np.random.default_rng(0)
    sketches = np.full((2, 2000), 0xFFFF, np.uint16)
    drawn = generator.integers(2**63, size=(2, 2000), dtype=np.uint64)
    for number, items in enumerate((np.arange(60), np.arange(40, 120))):
        sets = np.full(len(items), number, np.int32)
        _safran.sketch(sets, items, drawn[0] | np.uint64(1), drawn[1], sketches)
    assert (sketches[0] == sketches[1]).mean() == pytest.approx(20 / 120, abs=0.03)


# --- fitting -----------------------------------------------------------------------------------


def test_slots_with_few_targets_choose_as_the_others_do() -> None:
    """Two choices, three relations: many targets for the first, one for the second, none."""
    number = np.array([300, 0, 1, 0, 0, 0])
    total = np.array([[150.0, 0, 0.4, 0, 0, 0], [120.0, 0, 0.9, 0, 0, 0]])
    assert np.argmax(shrunk(total, number), axis=0)[::2].tolist() == [0, 0, 0]
    number[2], total[:, 2] = 60, [20.0, 45.0]
    assert np.argmax(shrunk(total, number), axis=0)[::2].tolist() == [0, 1, 0]


def test_the_fit_is_what_it_says_and_depends_on_neither_threads_nor_test(tmp_path: Path) -> None:
    engine = good_and_bad(tmp_path / "one")
    models = [
        Safran().fit(Fitting(engine, threads=1)),
        Safran().fit(Fitting(engine, threads=2)),
        Safran().fit(Fitting(good_and_bad(tmp_path / "two", test="a3\tr\tc3\nb1\tr\ta1\n"))),
    ]
    for other in models[1:]:
        for name, array in models[0].arrays().items():
            assert np.array_equal(array, other.arrays()[name]), name
    report = models[0].report
    assert report is not None
    assert report["mrr"] >= max(report["max+"], *dict(report["curve"]).values()) - 1e-9
    # relations without valid facts have a choice, too
    assert len(report["chosen"]) == 2 * len(engine.graph.relations)
    models[0].save(tmp_path / "model", engine.names)
    again = open_strategy(tmp_path / "model", engine.names)
    assert np.array_equal(again.arrays()["cluster"], models[0].arrays()["cluster"])
