"""What ranks are worth under each policy for ties, against enumeration of all orders."""

from __future__ import annotations

from collections import Counter

import naive
import numpy as np
import pytest
from fired import make_ranks, tied_ranks
from hypothesis import given
from hypothesis import strategies as st

from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import METRICS, TIES, values


@given(tied_ranks(), st.sampled_from([None, 1, 3, 10]), st.sampled_from([None, 1, 2, 5]))
def test_expected_is_the_mean_over_all_orders(r: Ranks, hits: int | None, cut: int | None) -> None:
    found = values(r, "mrr" if hits is None else f"hits@{hits}", cut=cut).ravel()
    pairs = zip(r.optimistic.ravel(), r.pessimistic.ravel(), strict=True)
    assert found == pytest.approx([naive.random_order_mean(o, p, hits, cut) for o, p in pairs])


@given(tied_ranks(), st.sampled_from(("realistic", "optimistic", "pessimistic")))
def test_a_cut_takes_what_lies_beyond_it(r: Ranks, ties: str) -> None:
    whole, cut = values(r, "mrr", ties), values(r, "mrr", ties, cut=2)
    assert np.array_equal(cut, np.where(whole >= 1 / 2, whole, 0))


@given(tied_ranks(), st.sampled_from(METRICS), st.sampled_from(TIES))
def test_every_policy_ends_in_the_bracket(r: Ranks, metric: str, ties: str) -> None:
    value = values(r, metric, ties, seed=3)
    assert (values(r, metric, "pessimistic") <= value + 1e-12).all()
    assert (value <= values(r, metric, "optimistic") + 1e-12).all()


def test_worked_example_of_ten_tied_candidates() -> None:
    """Nothing better, nine others tied: the mean rank says 0.182, random orders average 0.293."""
    r = make_ranks([[[1, 1]]], [[[10, 10]]])
    assert values(r, "mrr").mean() == pytest.approx(0.293, abs=5e-4)
    assert values(r, "mrr", "realistic").mean() == pytest.approx(0.182, abs=5e-4)
    assert values(r, "hits@1").mean() == pytest.approx(0.1)
    assert values(r, "hits@1", "realistic").mean() == 0


def test_random_ties_average_to_the_expected_value() -> None:
    r = make_ranks(np.ones((2, 20_000, 2)), np.full((2, 20_000, 2), 4))
    drawn = values(r, "mrr", "random", seed=1)
    assert drawn.mean() == pytest.approx(values(r, "mrr").mean(), abs=0.005)
    assert np.array_equal(drawn, values(r, "mrr", "random", seed=1))
    assert not np.array_equal(drawn, values(r, "mrr", "random", seed=2))
    assert np.array_equal(drawn[0], drawn[1])
    assert Counter((1 / drawn[0]).round().astype(int).ravel().tolist()).keys() == {1, 2, 3, 4}
