"""What the Snakefile learns from a configuration."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from workflows import ROOT

from kgagg.errors import InputError
from kgagg.pipeline import experiment as files
from kgagg.pipeline.experiment import Experiment
from kgagg.strategies.registry import names, strategy

WILDCARDS = SimpleNamespace(rules="anyburl", dataset="wnrr")


def make(**changes: Any) -> Experiment:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    return Experiment(config | changes, ROOT)


def with_heights(strategies: list[str], top_h: list[int]) -> Experiment:
    sets = make().config["rule_sets"]
    return make(
        strategies=strategies, rule_sets=sets | {"anyburl": sets["anyburl"] | {"top_h": top_h}}
    )


@pytest.mark.parametrize(
    ("strategies", "top_h", "expected"),
    [
        (["max+"], [1, 4, 10], 10),
        (["noisy-or-top-25"], [1, 4], 25),
        (["max", "learned"], [1, 4], 20),
        (["mean"], [1, 4], 0),
        (["safran", "max"], [1, 4], 0),
    ],
)
def test_firings_keep_what_strategies_read(
    strategies: list[str], top_h: list[int], expected: int
) -> None:
    assert with_heights(strategies, top_h).best_rules(WILDCARDS) == expected


def test_strategies_that_are_fitted_are_known() -> None:
    every = [name for name in names() if not name.endswith("-h")]
    found = make(strategies=every)
    assert [one.name for one in found.strategies.values()] == every
    fitted = {found.strategies[label].name for label in found.fitted}
    assert fitted == {name for name in every if strategy(name).needs}
    # a label is part of a file's name
    assert "noisy-or-top-h-star" in found.fitted
    assert found.model(SimpleNamespace(label="noisy-or-top-h-star")) == files.MODEL
    assert found.model(SimpleNamespace(label="max")) == []


def test_a_file_of_each_pair_and_strategy() -> None:
    found = make(datasets=["wnrr", "codex-m"], rules=["anyburl"], strategies=["max", "learned"])
    assert found.pairs(*found.each(files.MODEL, found.fitted)) == [
        f"<results>/models/{name}/anyburl/learned.kgagg" for name in ("wnrr", "codex-m")
    ]
    assert len(found.pairs(*found.each(files.RANKS))) == 4


def test_a_job_before_test_sees_nothing_of_it() -> None:
    parts = [Path(path).stem for path in make().data("valid")]
    assert parts == ["train", "valid"]
    assert [Path(path).stem for path in make().data("test")] == ["train", "valid", "test"]
    assert all("/tuning/" in path for path in make().data("valid"))


def test_values_of_h_as_the_command_line_takes_them() -> None:
    found = with_heights(["max"], [1, 4, 0])
    assert found.top_h(WILDCARDS) == "1,4,all"
    assert found.curve(WILDCARDS) == "noisy-or-top-1,noisy-or-top-4,noisy-or"


def test_a_wrong_configuration_is_refused() -> None:
    with pytest.raises(InputError, match="datasets: unknown wnr; did you mean wnrr"):
        make(datasets=["wnr"])
