"""The Python interface."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kgagg
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
