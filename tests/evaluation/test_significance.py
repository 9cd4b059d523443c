"""Intervals and tests on small ranks."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from fired import make_ranks
from hypothesis import given
from hypothesis import strategies as st

from kgagg.errors import InputError
from kgagg.evaluation.significance import compare, holm, intervals
from kgagg.ranking.ties import values


def test_intervals_agree_with_the_normal_approximation() -> None:
    r = make_ranks(np.random.default_rng(0).geometric(0.3, (2, 800, 2)))
    table = intervals(r, resamples=4000, seed=5)
    by_triple = values(r).mean(axis=2)
    half = 1.96 * by_triple.std(axis=1) / np.sqrt(800)
    assert table["value"].to_numpy() == pytest.approx(by_triple.mean(axis=1))
    assert (table["value"] - table["low"]).to_numpy() == pytest.approx(half, rel=0.08)
    assert (table["high"] - table["value"]).to_numpy() == pytest.approx(half, rel=0.08)
    assert table.equals(intervals(r, resamples=4000, seed=5))


def test_both_directions_are_resampled_together() -> None:
    """If one direction mirrors the other, a triple's mean is constant and so is every sample."""
    hit = np.random.default_rng(0).integers(0, 2, 50)
    r = make_ranks([np.stack([hit, 1 - hit], axis=1)])
    table = intervals(r, "hits@1", resamples=200)
    assert table["low"].iloc[0] == table["high"].iloc[0] == 0.5


@given(st.integers(0, 1000))
def test_permutation_test_agrees_with_all_sign_flips(seed: int) -> None:
    r = make_ranks(np.random.default_rng(seed).integers(1, 6, (2, 7, 2)))
    found = compare(r, resamples=4000, seed=seed)
    exact = naive.sign_flip_p(np.subtract(*values(r).mean(axis=2)).tolist())
    assert found["p"].iloc[0] == pytest.approx(exact, abs=0.05)


def test_compare_finds_the_better_strategy_and_no_other() -> None:
    generator = np.random.default_rng(0)
    base = generator.integers(2, 30, (500, 2))
    shuffled = np.where(generator.random((500, 2)) < 0.5, base, base[::-1])
    r = make_ranks([base, shuffled, np.maximum(base - 1, 1), base])
    table = compare(r, resamples=2000)
    pairs = {(row["first"], row["second"]): row for row in table.to_dict("records")}
    same, better = pairs["s0", "s3"], pairs["s0", "s2"]
    assert [same[c] for c in ("difference", "low", "high", "p")] == [0, 0, 0, 1]
    assert better["high"] < 0
    assert better["holm"] == pytest.approx(6 / 2001)
    assert pairs["s0", "s1"]["holm"] > 0.05
    assert table.equals(compare(r, resamples=2000))
    one = compare(r, resamples=2000, pairs=[("s2", "s0")]).to_dict("records")[0]
    assert one["difference"] == -better["difference"]
    assert one["holm"] == one["p"]
    with pytest.raises(InputError, match="no ranks of strategy 'z9'"):
        compare(r, pairs=[("z9", "s0")])


def test_holm_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.5])
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.5])
