"""Tables of metrics on small ranks: micro averages, groups, brackets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fired import DOES, make_ranks, tied_ranks
from hypothesis import given, settings
from hypothesis import strategies as st

from kgagg.errors import InputError
from kgagg.evaluation.metrics import (
    CATEGORIES,
    by_category,
    by_direction,
    by_relation,
    evaluate,
    relation_categories,
)
from kgagg.evaluation.significance import intervals
from kgagg.ranking.ranks import Ranks


def test_evaluate_is_the_micro_average_with_bracket_and_tie_mass() -> None:
    table = evaluate(make_ranks([[[1, 2], [0, 4]]], [[[1, 4], [0, 4]]]), ["mrr", "hits@3"])
    assert table["metric"].tolist() == ["mrr", "hits@3"]
    mrr, hits = table.to_dict("records")
    assert mrr["value"] == pytest.approx((1 + (1 / 2 + 1 / 3 + 1 / 4) / 3 + 0 + 1 / 4) / 4)
    assert mrr["pessimistic"] == pytest.approx((1 + 1 / 4 + 1 / 4) / 4)
    assert mrr["optimistic"] == pytest.approx((1 + 1 / 2 + 1 / 4) / 4)
    assert hits["value"] == pytest.approx((1 + 2 / 3) / 4)
    assert mrr["tied"] == 1 / 4
    assert mrr["queries"] == 4


@settings(max_examples=30)
@given(tied_ranks(), st.sampled_from(["relation", "direction", "category"]))
def test_groups_add_up_to_the_whole(r: Ranks, by: str) -> None:
    groups = {
        "relation": by_relation(r),
        "direction": by_direction(r),
        "category": by_category(r, r.triples),
    }[by]
    table = evaluate(r, groups=groups)
    assert table.columns[0] == by
    for column in ("value", "pessimistic", "optimistic", "tied"):
        sums = (table[column] * table["queries"]).groupby([table["strategy"], table["metric"]])
        whole = evaluate(r).set_index(["strategy", "metric"])
        means = sums.sum() / whole["queries"]
        assert means.loc[whole.index].to_numpy() == pytest.approx(whole[column].to_numpy())


def test_direction_and_relation_groups_hold_their_own_queries() -> None:
    r = make_ranks([[[1, 2], [1, 2], [1, 2]]])
    table = evaluate(r, ["mrr"], groups=by_direction(r))
    assert dict(zip(table["direction"], table["value"], strict=True)) == {"tail": 1, "head": 0.5}
    table = evaluate(r, ["mrr"], groups=by_relation(r))
    names = [DOES[i] for i in r.triples[:, 1]]
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
    found = relation_categories(train, 6)
    assert [CATEGORIES[c] for c in found] == [
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
        evaluate(make_ranks([[[1, 1]]]), **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)


def test_nothing_to_evaluate() -> None:
    empty = make_ranks(np.zeros((1, 0, 2)))
    assert evaluate(empty)["queries"].tolist() == [0] * 4
    with pytest.raises(InputError, match="no triples"):
        intervals(empty)
