"""The configuration of the workflow: what is wrong is told, what it says is read."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgagg.errors import InputError
from kgagg.pipeline.configuration import check, places, source, typed, usable
from kgagg.pipeline.costs import cost, plan

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"


@pytest.fixture
def paper() -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    return config


def changed(config: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    config = copy.deepcopy(config)
    *way, last = path.split("/")
    place = config
    for key in way:
        place = place.setdefault(key, {})
    place[last] = value
    return config


def test_the_paper_is_valid(paper: dict[str, Any]) -> None:
    check(paper, SCHEMA)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("datsets", ["wnrr"], "unknown key datsets; did you mean datasets?"),
        ("datasets", ["wnr"], "datasets: unknown wnr; did you mean wnrr?"),
        ("rules", ["anyburI"], "rules: unknown anyburI; did you mean anyburl"),
        ("strategies", ["max-"], "strategies: unknown strategy 'max-'"),
        ("semantics", "pyclaus", "semantics: pyclaus is not one of anyburl, pyclause"),
        ("threads/apple", 1, "threads: unknown key apple; did you mean apply?"),
        ("top_x", -1, "top_x: -1 is less than the minimum of 0"),
        ("chunks", "many", "chunks: 'many' is not of type 'integer'"),
        ("rule_sets/amie/minre", "amie", "rule_sets.amie: unknown key minre; did you mean miner?"),
        ("rule_sets/amie/miner", "amy", "rule_sets.amie.miner: amy is not one of"),
        ("rule_sets/amie/paper", "anyburl", "rule_sets.amie: paper: anyburl is taken by anyburl"),
        ("rule_sets/anyburl/options/second", 5, "rule_sets.anyburl.options: unknown second"),
        (
            "rule_sets/amie/datasets",
            {"wnrr": {"fil": "x"}},
            "rule_sets.amie.datasets.wnrr: unknown key fil; did you mean file?",
        ),
        (
            "rule_sets/amie/datasets",
            {"wnrr": {"file": "no/such.rules"}},
            "rule_sets.amie.datasets.wnrr: no/such.rules: no such file",
        ),
        (
            "rule_sets/amie/datasets",
            {"wnrr": {"digest": "sha256:00"}},
            "rule_sets.amie.datasets.wnrr: a digest without a file",
        ),
        ("rule_sets/amie", {"title": "x", "top_h": [1]}, "no miner, and no file for fb15k-237"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    paper: dict[str, Any], path: str, value: Any, message: str
) -> None:
    with pytest.raises(InputError) as error:
        check(changed(paper, path, value), SCHEMA)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_names_stay_in_the_results(paper: dict[str, Any]) -> None:
    for name in ("../../out", "a{dataset}", ".", "a/b"):
        own = {**paper, "rules": [name], "rule_sets": {name: paper["rule_sets"]["anyburl"]}}
        with pytest.raises(InputError, match="a name has letters, digits"):
            check(own, SCHEMA)


def test_rules_are_mined_pinned_or_supplied(paper: dict[str, Any]) -> None:
    files = {"wnrr": {"file": "a"}, "codex-m": {"file": "b", "digest": "sha256:00"}}
    config = changed(paper, "rule_sets/amie/datasets", files)
    kinds = [source(config, "amie", name).kind for name in ("wnrr", "codex-m", "fb15k-237")]
    assert kinds == ["supplied", "pinned", "mined"]


def test_options_of_a_dataset_add_to_those_of_the_rule_set(paper: dict[str, Any]) -> None:
    found = source(paper, "anyburl", "wnrr")
    assert found.arguments == [
        *("--jar", "anyburl-23-1", "--seconds", "1000", "--max-length-cyclic", "5")
    ]
    assert source(paper, "anyburl", "yago3-10").jar == "anyburl-juno"


def test_an_optional_rule_set_is_left_out_without_its_jar(
    paper: dict[str, Any], cache: Path
) -> None:
    assert usable(paper) == ["anyburl", "amie"]
    assert usable(changed(paper, "rule_sets/anyburl/optional", True)) == ["amie"]


def test_numbers_on_the_command_line_are_numbers() -> None:
    nested = {"threads": {"mine": "4"}, "title": "7", "top": [1], "a": {"b": ["1", "true", "x"]}}
    assert typed(nested) == {
        "threads": {"mine": 4},
        "title": "7",
        "top": [1],
        "a": {"b": [1, True, "x"]},
    }


def test_the_plan_grows_with_the_data(paper: dict[str, Any]) -> None:
    small, large = (cost(paper, "apply", "anyburl", name) for name in ("wnrr", "yago3-10"))
    assert small.seconds < large.seconds
    assert small.memory < large.memory
    table = plan(paper, ["anyburl", "amie"], ["learned"], 30)
    assert [line.split()[1] for line in table.splitlines()[3:]][-1] == "all"


def test_a_dataset_may_be_a_folder(paper: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "train.csv").write_text("head,relation,tail\na,r,b\n")
    own = changed(paper, "datasets", ["wnrr", str(folder)])
    with pytest.raises(InputError, match=r"people: has no valid\.txt \(kgagg split\)"):
        check(own, SCHEMA)
    for split in ("valid", "test"):
        (folder / f"{split}.csv").write_text("a,r,b\n")
    check(own, SCHEMA)
    check(changed(own, "rule_sets/amie/datasets", {"people": {"options": {}}}), SCHEMA)
    assert places(own) == {"wnrr": "wnrr", "people": str(folder)}
    for wrong, message in (
        ([str(folder), str(tmp_path / "x" / ".." / "people")], "two have the same name"),
        ([str(folder / "train.csv")], "is not split"),
        ([str(tmp_path)], "has no train.txt"),
    ):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(InputError, match=message):
            check(changed(paper, "datasets", wrong), SCHEMA)
