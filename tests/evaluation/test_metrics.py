"""Metrics against enumeration of all orders; tables, intervals and tests on small ranks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgagg.errors import InputError
from kgagg.evaluation import metrics as evaluation
from kgagg.evaluation.metrics import evaluate
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import values

RELATIONS = Vocabulary.from_names(["likes", "knows", "owns"])
ENTITIES = Vocabulary.from_names(["ann", "bob", "two words", "d\u00e9", "eve"])


def make(optimistic: object, pessimistic: object | None = None, seed: int = 0) -> Ranks:
    """Ranks of shape (S, T, 2) for random triples."""
    low = np.array(optimistic, np.int32)
    high = low if pessimistic is None else np.array(pessimistic, np.int32)
    generator = np.random.default_rng(seed)
    columns = [generator.integers(len(v), size=low.shape[1]) for v in (ENTITIES, RELATIONS)]
    triples = np.stack([*columns, columns[0]], axis=1).astype(np.int32)
    names = tuple(f"s{i}" for i in range(len(low)))
    return Ranks(ENTITIES, RELATIONS, triples, names, low, high)


@st.composite
def ranks(draw: st.DrawFn, ties: int = 5) -> Ranks:
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 6)), 2)
    size = int(np.prod(shape))
    low = np.array(draw(st.lists(st.integers(0, 12), min_size=size, max_size=size)))
    extra = np.array(draw(st.lists(st.integers(0, ties), min_size=size, max_size=size)))
    return make(low.reshape(shape), np.where(low > 0, low + extra, 0).reshape(shape))


# --- metrics -----------------------------------------------------------------------------------


@given(ranks(), st.sampled_from([None, 1, 3, 10]))
def test_expected_is_the_mean_over_all_orders(r: Ranks, hits: int | None) -> None:
    found = values(r, "mrr" if hits is None else f"hits@{hits}").ravel()
    pairs = zip(r.optimistic.ravel(), r.pessimistic.ravel(), strict=True)
    assert found == pytest.approx([naive.random_order_mean(o, p, hits) for o, p in pairs])


@given(ranks(), st.sampled_from(evaluation.METRICS), st.sampled_from(evaluation.TIES))
def test_every_policy_ends_in_the_bracket(r: Ranks, metric: str, ties: str) -> None:
    value = values(r, metric, ties, seed=3)
    assert (values(r, metric, "pessimistic") <= value + 1e-12).all()
    assert (value <= values(r, metric, "optimistic") + 1e-12).all()


def test_worked_example_of_ten_tied_candidates() -> None:
    """Nothing better, nine others tied: the mean rank says 0.182, random orders average 0.293."""
    r = make([[[1, 1]]], [[[10, 10]]])
    assert values(r, "mrr").mean() == pytest.approx(0.293, abs=5e-4)
    assert values(r, "mrr", "realistic").mean() == pytest.approx(0.182, abs=5e-4)
    assert values(r, "hits@1").mean() == pytest.approx(0.1)
    assert values(r, "hits@1", "realistic").mean() == 0


def test_random_ties_average_to_the_expected_value() -> None:
    r = make(np.ones((2, 20_000, 2)), np.full((2, 20_000, 2), 4))
    drawn = values(r, "mrr", "random", seed=1)
    assert drawn.mean() == pytest.approx(values(r, "mrr").mean(), abs=0.005)
    assert np.array_equal(drawn, values(r, "mrr", "random", seed=1))
    assert not np.array_equal(drawn, values(r, "mrr", "random", seed=2))
    assert np.array_equal(drawn[0], drawn[1])
    assert Counter((1 / drawn[0]).round().astype(int).ravel().tolist()).keys() == {1, 2, 3, 4}


def test_evaluate_is_the_micro_average_with_bracket_and_tie_mass() -> None:
    table = evaluate(make([[[1, 2], [0, 4]]], [[[1, 4], [0, 4]]]), ["mrr", "hits@3"])
    assert table["metric"].tolist() == ["mrr", "hits@3"]
    mrr, hits = table.to_dict("records")
    assert mrr["value"] == pytest.approx((1 + (1 / 2 + 1 / 3 + 1 / 4) / 3 + 0 + 1 / 4) / 4)
    assert mrr["pessimistic"] == pytest.approx((1 + 1 / 4 + 1 / 4) / 4)
    assert mrr["optimistic"] == pytest.approx((1 + 1 / 2 + 1 / 4) / 4)
    assert hits["value"] == pytest.approx((1 + 2 / 3) / 4)
    assert mrr["tied"] == 1 / 4
    assert mrr["queries"] == 4


@settings(max_examples=30)
@given(ranks(), st.sampled_from(["relation", "direction", "category"]))
def test_groups_add_up_to_the_whole(r: Ranks, by: str) -> None:
    groups = {
        "relation": evaluation.by_relation(r),
        "direction": evaluation.by_direction(r),
        "category": evaluation.by_category(r, r.triples),
    }[by]
    table = evaluate(r, groups=groups)
    assert table.columns[0] == by
    for column in ("value", "pessimistic", "optimistic", "tied"):
        sums = (table[column] * table["queries"]).groupby([table["strategy"], table["metric"]])
        whole = evaluate(r).set_index(["strategy", "metric"])
        means = sums.sum() / whole["queries"]
        assert means.loc[whole.index].to_numpy() == pytest.approx(whole[column].to_numpy())


def test_direction_and_relation_groups_hold_their_own_queries() -> None:
    r = make([[[1, 2], [1, 2], [1, 2]]])
    table = evaluate(r, ["mrr"], groups=evaluation.by_direction(r))
    assert dict(zip(table["direction"], table["value"], strict=True)) == {"tail": 1, "head": 0.5}
    table = evaluate(r, ["mrr"], groups=evaluation.by_relation(r))
    names = [RELATIONS[i] for i in r.triples[:, 1]]
    assert dict(zip(table["relation"], table["queries"], strict=True)) == {
        name: 2 * count for name, count in Counter(names).items()
    }


def test_relation_categories() -> None:
    one_to_one = [(0, 0, 1), (2, 0, 3), (2, 0, 3)]
    many_tails = [(0, 1, 1), (0, 1, 2), (0, 1, 3)]
    many_heads = [(1, 2, 0), (2, 2, 0), (3, 2, 0)]
    both = [(h, 3, t) for h in range(2) for t in range(2, 4)]
    just_many = [(0, 4, 1), (0, 4, 2), (3, 4, 4)]
    train = np.array(one_to_one + many_tails + many_heads + both + just_many, np.int32)
    found = evaluation.relation_categories(train, 6)
    assert [evaluation.CATEGORIES[c] for c in found] == [
        "1-1",
        "1-n",
        "n-1",
        "n-n",
        "1-n",
        "unseen",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["mr"]}, "unknown metric 'mr'; did you mean mrr?"),
        ({"metrics": ["hits@0"]}, "unknown metric 'hits@0'; did you mean hits@1"),
        ({"ties": "realistik"}, "unknown tie policy 'realistik'; did you mean realistic"),
    ],
)
def test_wrong_names_are_told(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        evaluate(make([[[1, 1]]]), **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)


# --- intervals and tests -----------------------------------------------------------------------


def test_intervals_agree_with_the_normal_approximation() -> None:
    r = make(np.random.default_rng(0).geometric(0.3, (2, 800, 2)))
    table = evaluation.intervals(r, resamples=4000, seed=5)
    by_triple = values(r).mean(axis=2)
    half = 1.96 * by_triple.std(axis=1) / np.sqrt(800)
    assert table["value"].to_numpy() == pytest.approx(by_triple.mean(axis=1))
    assert (table["value"] - table["low"]).to_numpy() == pytest.approx(half, rel=0.08)
    assert (table["high"] - table["value"]).to_numpy() == pytest.approx(half, rel=0.08)
    assert table.equals(evaluation.intervals(r, resamples=4000, seed=5))


def test_both_directions_are_resampled_together() -> None:
    """If one direction mirrors the other, a triple's mean is constant and so is every sample."""
    hit = np.random.default_rng(0).integers(0, 2, 50)
    r = make([np.stack([hit, 1 - hit], axis=1)])
    table = evaluation.intervals(r, "hits@1", resamples=200)
    assert table["low"].iloc[0] == table["high"].iloc[0] == 0.5


@given(st.integers(0, 1000))
def test_permutation_test_agrees_with_all_sign_flips(seed: int) -> None:
    r = make(np.random.default_rng(seed).integers(1, 6, (2, 7, 2)))
    found = evaluation.compare(r, resamples=4000, seed=seed)
    exact = naive.sign_flip_p(np.subtract(*values(r).mean(axis=2)).tolist())
    assert found["p"].iloc[0] == pytest.approx(exact, abs=0.05)


def test_compare_finds_the_better_strategy_and_no_other() -> None:
    generator = np.random.default_rng(0)
    base = generator.integers(2, 30, (500, 2))
    shuffled = np.where(generator.random((500, 2)) < 0.5, base, base[::-1])
    r = make([base, shuffled, np.maximum(base - 1, 1), base])
    table = evaluation.compare(r, resamples=2000)
    pairs = {(row["first"], row["second"]): row for row in table.to_dict("records")}
    same, better = pairs["s0", "s3"], pairs["s0", "s2"]
    assert [same[c] for c in ("difference", "low", "high", "p")] == [0, 0, 0, 1]
    assert better["high"] < 0
    assert better["holm"] == pytest.approx(6 / 2001)
    assert pairs["s0", "s1"]["holm"] > 0.05
    assert table.equals(evaluation.compare(r, resamples=2000))
    one = evaluation.compare(r, resamples=2000, pairs=[("s2", "s0")]).to_dict("records")[0]
    assert one["difference"] == -better["difference"]
    assert one["holm"] == one["p"]
    with pytest.raises(InputError, match="no ranks of strategy 'z9'"):
        evaluation.compare(r, pairs=[("z9", "s0")])


def test_holm_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.5])
    assert evaluation.holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.5])


def test_nothing_to_evaluate() -> None:
    empty = make(np.zeros((1, 0, 2)))
    assert evaluate(empty)["queries"].tolist() == [0] * 4
    with pytest.raises(InputError, match="no triples"):
        evaluation.intervals(empty)


# --- files -------------------------------------------------------------------------------------


@given(ranks())
def test_a_ranks_file_is_read_back(tmp_path_factory: pytest.TempPathFactory, r: Ranks) -> None:
    path = tmp_path_factory.mktemp("ranks") / "ranks.parquet"
    r.write(path)
    back = Ranks.read(path)
    assert back.strategies == r.strategies
    assert np.array_equal(back.optimistic, r.optimistic)
    assert np.array_equal(back.pessimistic, r.pessimistic)
    for a, b in zip(back.triples, r.triples, strict=True):
        assert back.entities[a[0]] == r.entities[b[0]]
        assert back.relations[a[1]] == r.relations[b[1]]
        assert back.entities[a[2]] == r.entities[b[2]]


def test_a_ranks_file_has_the_promised_columns_and_nulls(tmp_path: Path) -> None:
    import pandas as pd

    make([[[1, 0]]], [[[2, 0]]]).write(tmp_path / "ranks.parquet")
    table = pd.read_parquet(tmp_path / "ranks.parquet")
    assert list(table) == [
        "triple", "head", "relation", "tail", "direction", "strategy", "optimistic", "pessimistic"
    ]  # fmt: skip
    assert table["direction"].tolist() == ["tail", "head"]
    assert table["optimistic"].isna().tolist() == [False, True]
    assert table["pessimistic"].iloc[0] == 2


def test_a_damaged_ranks_file_is_told(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "ranks.parquet"
    with pytest.raises(InputError, match="no such file"):
        Ranks.read(path)
    path.write_text("head")
    with pytest.raises(InputError, match="expected a parquet file of ranks"):
        Ranks.read(path)
    make([[[1, 1], [2, 2]]]).write(path)
    table = pd.read_parquet(path)
    table.iloc[:-1].to_parquet(path)
    with pytest.raises(InputError, match="one row for each"):
        Ranks.read(path)
    table.drop(columns="strategy").to_parquet(path)
    with pytest.raises(InputError, match="expected a parquet file of ranks"):
        Ranks.read(path)
