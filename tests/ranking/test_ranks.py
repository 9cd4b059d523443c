"""Ranks in files and side by side."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from fired import make_ranks, tied_ranks
from hypothesis import given

from kgagg.errors import InputError
from kgagg.ranking.ranks import Ranks


@given(tied_ranks())
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

    make_ranks([[[1, 0]]], [[[2, 0]]]).write(tmp_path / "ranks.parquet")
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
    make_ranks([[[1, 1], [2, 2]]]).write(path)
    table = pd.read_parquet(path)
    table.iloc[:-1].to_parquet(path)
    with pytest.raises(InputError, match="one row for each"):
        Ranks.read(path)
    table.drop(columns="strategy").to_parquet(path)
    with pytest.raises(InputError, match="expected a parquet file of ranks"):
        Ranks.read(path)


def test_more_strategies_for_the_same_triples() -> None:
    one = make_ranks([[[1, 2]], [[3, 4]]])
    other = dataclasses.replace(make_ranks([[[5, 6]]]), strategies=("other",))
    joined = one.joined(other)
    assert joined.strategies == ("s0", "s1", "other")
    picked = joined.only(["other", "s0"])
    assert picked.strategies == ("other", "s0")
    assert picked.optimistic.tolist() == [[[5, 6]], [[1, 2]]]
