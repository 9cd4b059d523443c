"""The Python interface."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgagg
from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.strategies import base, registry
from kgagg.strategies.scoring import score

ROOT = Path(__file__).parents[1]


@pytest.fixture
def graph(world: Path) -> kgagg.Graph:
    return kgagg.Graph.from_folder(world)


def test_the_strategy_of_the_documentation(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registered = dict(base.REGISTERED)
    for module in (base, registry):
        monkeypatch.setattr(module, "REGISTERED", registered)
    page = (ROOT / "docs" / "extend.md").read_text()
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example is not None
    exec(example[1], {})
    graph = kgagg.Graph.from_folder(world)
    firings = kgagg.apply(graph, world / "rules.txt", "test")
    scores = score(firings, [registry.strategy(n) for n in ("max", "fading", "noisy-or")])
    best = -np.log1p(-scores[0])
    assert np.all(best <= scores[1] + 1e-12)
    assert np.all(scores[1] <= scores[2] + 1e-12)


def test_importing_it_is_cheap_and_what_is_offered_is_there() -> None:
    code = "import sys, kgagg; assert not {'numpy', 'numba', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(kgagg.__all__) <= set(dir(kgagg))
    assert all(callable(getattr(kgagg, name)) for name in kgagg.__all__)
    with pytest.raises(AttributeError, match="no attribute 'aggregate'"):
        kgagg.aggregate  # noqa: B018


def test_rules_are_taken_in_every_way(world: Path, graph: kgagg.Graph) -> None:
    path = world / "rules.txt"
    preset = kgagg.Confidence.preset("anyburl")
    tables = [
        kgagg.evaluate(graph, rules, ["max", "noisy-or"])
        for rules in (path, [path], kgagg.RuleSet.read(path, confidence=preset))
    ]
    for table in tables:
        pd.testing.assert_frame_equal(table, tables[0])
    assert tables[0].index.tolist() == ["max", "noisy-or"]


def test_firings_of_a_split_and_of_queries(world: Path, graph: kgagg.Graph) -> None:
    path = world / "rules.txt"
    firings = kgagg.apply(graph, path, best=2)
    assert np.diff(firings.rule_ptr).max() == 2
    asked = pd.DataFrame({"head": ["e0", None], "relation": ["r0", "r1"], "tail": [None, "e2"]})
    table = kgagg.apply(graph, path, asked, top_x=0).to_pandas(graph.entities, graph.relations)
    assert set(zip(table["entity"], table["direction"], strict=True)) == {
        ("e0", "tail"),
        ("e2", "head"),
    }
    # candidates are those of the answers
    answers = kgagg.rank(graph, path, asked, "noisy-or", top_k=0)
    assert len(answers) == len(table)
    assert sorted(answers["score"]) == pytest.approx(sorted(table["noisy_or"]))
    with pytest.raises(InputError, match="no queries"):
        kgagg.apply(graph, path, [])


def test_a_model(world: Path, graph: kgagg.Graph) -> None:
    path = world / "rules.txt"
    model = kgagg.Model("noisy-or-top-h*", top_h=[1, 2, 3]).fit(graph, path)
    table = kgagg.evaluate(graph, path, ["noisy-or-top-h*"], top_h=[1, 2, 3])
    pd.testing.assert_frame_equal(model.evaluate(), table)
    assert model.evaluate("valid").index.tolist() == ["noisy-or-top-h*"]
    answers = model.rank([("e3", "r0", "?")], top_k=4)
    assert answers["rank"].tolist() == [1, 2, 3, 4]
    best = answers.iloc[0]
    standing = model.explain(best["head"], best["relation"], best["tail"]).standings[0]
    assert standing.optimistic == 1
    assert standing.score == pytest.approx(best["score"])
    assert len(model.rank([])) == 0
    facts = model.predict(["r0"], 5)
    pd.testing.assert_frame_equal(
        facts, kgagg.predict(graph, path, ["r0"], "noisy-or-top-h*", 5, top_h=[1, 2, 3])
    )
    assert facts["probability"].between(0, 1).all()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (("e00", "r0", None), "unknown entity 'e00'; did you mean e0"),
        (("e0", "rr0", None), "unknown relation 'rr0'; did you mean r0"),
        ((None, "r0", None), "expected `head relation"),
    ],
)
def test_names_that_are_not_there(
    world: Path, graph: kgagg.Graph, query: tuple[str | None, str, str | None], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        kgagg.rank(graph, world / "rules.txt", [query])


def test_a_model_is_saved_and_loaded(world: Path, graph: kgagg.Graph, tmp_path: Path) -> None:
    for name in ("noisy-or-top-h*", "max"):
        model = kgagg.Model(name, top_h=[1, 2], top_x=50).fit(graph, world / "rules.txt")
        again = kgagg.Model.load(model.save(tmp_path / name.strip("*")))
        assert repr(again) == repr(model)
        pd.testing.assert_frame_equal(again.evaluate(), model.evaluate())
        pd.testing.assert_frame_equal(again.predict("r0", 5), model.predict(["r0"], 5))
    with pytest.raises(InputError, match=r"expected what Model\.save wrote"):
        kgagg.Model.load(tmp_path)
    (tmp_path / "max" / "model.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        kgagg.Model.load(tmp_path / "max")


def test_a_model_that_is_not_fitted_says_so(tmp_path: Path) -> None:
    model = kgagg.Model()
    assert repr(model) == "Model('noisy-or-top-5', not fitted)"
    assert "not fitted" in model._repr_html_()
    for use in (
        lambda: model.evaluate(),
        lambda: model.predict(),
        lambda: model.rank([("a", "r", None)]),
        lambda: model.explain("a", "r", "b"),
        lambda: model.save(tmp_path / "model"),
    ):
        with pytest.raises(kgagg.NotFittedError, match="the model is not fitted: fit it"):
            use()
    assert not (tmp_path / "model").exists()
    with pytest.raises(AttributeError, match="no attribute 'engine'"):
        model.engine  # noqa: B018


def test_a_string_is_one_item_and_a_path_is_a_graph(world: Path, graph: kgagg.Graph) -> None:
    path, folder = world / "rules.txt", str(world)
    pd.testing.assert_frame_equal(
        kgagg.evaluate(folder, path, "max"), kgagg.evaluate(graph, path, ["max"])
    )
    pd.testing.assert_frame_equal(
        kgagg.predict(world, path, "r0", top=3), kgagg.predict(graph, path, ["r0"], top=3)
    )
    one = kgagg.rank(folder, path, ("e3", "r0", None), tails="e1")
    pd.testing.assert_frame_equal(one, kgagg.rank(graph, path, [("e3", "r0", None)], tails=["e1"]))
    assert len(kgagg.apply(folder, path))


@pytest.mark.parametrize(
    ("queries", "problem"),
    [
        (["e3 r0 ?"], r"'e3 r0 \?': expected head, relation and tail"),
        ([("e3", "r0")], r"\('e3', 'r0'\): expected head, relation and tail"),
        (pd.DataFrame({"head": ["e3"]}), "a table without relation, tail"),
    ],
)
def test_wrong_shapes_are_explained(
    world: Path, graph: kgagg.Graph, queries: Any, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        kgagg.rank(graph, world / "rules.txt", queries)


def test_what_the_command_line_can(world: Path, graph: kgagg.Graph) -> None:
    table = kgagg.evaluate(graph, world / "rules.txt", "max", intervals=True)
    assert (table["interval_low"] < table["mrr"]).all()
    assert (table["mrr"] < table["interval_high"]).all()
    model = kgagg.Model("max").fit(graph, world / "rules.txt")
    protocols = model.protocols().set_index("protocol")["mrr"]
    assert protocols["default"] == pytest.approx(table["mrr"].iloc[0])
    halves = kgagg.split(world, (0.6, 0.2, 0.2), seed=2)
    assert len(halves.train) + len(halves.valid) + len(halves.test) == len(
        np.unique(np.concatenate([graph.train, graph.valid, graph.test]), axis=0)
    )
    with pytest.raises(InputError, match="no such miner, expected one of native"):
        kgagg.mine(graph, "nativ")


def test_mined_rules_are_those_of_the_command_line(world: Path, tmp_path: Path) -> None:
    rules = kgagg.mine(world, max_length_cyclic=2)
    assert (
        main(["mine", "native", str(world), "--max-length-cyclic", "2", "--out", f"{tmp_path}/r"])
        == 0
    )
    pd.testing.assert_frame_equal(
        kgagg.evaluate(world, rules), kgagg.evaluate(world, tmp_path / "r")
    )


def test_a_registered_dataset_is_fetched_from_a_mirror(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(kgagg.Unavailable, match="offline"):
        kgagg.fetch("umls", offline=True)
    with pytest.raises(InputError, match="did you mean umls"):
        kgagg.fetch("umsl")


def test_explanations_and_models_show_themselves(world: Path, graph: kgagg.Graph) -> None:
    model = kgagg.Model("max").fit(graph, world / "rules.txt")
    head, relation, tail = graph.to_pandas("test").iloc[0]
    why = model.explain(head, relation, tail)
    assert len(repr(why)) < 200
    assert f"{relation}({head}, {tail}) by max: tail rank " in repr(why)
    assert why._repr_html_().startswith("<iframe")
    assert "&lt;h1&gt;" in why._repr_html_()
    assert why.to_html().startswith("<!doctype html>")
    assert "Graph(" in model._repr_html_()
    assert len(repr(model)) < 300
