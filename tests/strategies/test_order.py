"""The order of the lines of a split changes no number: not of a fit, a rank, a metric or a rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kgagg
from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.evaluation.run import evaluate
from kgagg.graph.graph import SPLITS
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import names, open_strategy, strategy

EVERY = [name.replace("-top-h", "-top-3") if name.endswith("-h") else name for name in names()]


@pytest.fixture
def crowded(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same lines in another order; queries have 70 candidates that tie."""
    random = np.random.default_rng(8)
    lines: dict[str, list[str]] = {split: [] for split in SPLITS}
    for i in range(70):
        # all of these are equally likely answers for all hubs, by the same rules
        lines["train"] += [f"hub{h}\tlikes\tn{i}" for h in range(4)]
        lines["train"] += [f"n{i}\tknows\tn{int(random.integers(70))}" for _ in range(2)]
        lines["train"] += [f"n{i}\twants\tn{int(random.integers(70))}"]
        split = ("train", "valid", "valid", "test")[i % 4]
        lines[split].append(f"hub{i % 3}\twants\tn{i}")
    rules = (
        "100\t60\t0.6\twants(X,Y) <= likes(X,Y)\n"
        "90\t20\t0.2\twants(X,Y) <= knows(A,X), knows(A,Y)\n"
        "80\t18\t0.2\twants(X,n3) <= likes(X,n5)\n"
        "80\t18\t0.2\twants(X,Y) <= knows(X,Y)\n"
    )
    folders = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        folders.append(folder)
        for split, text in lines.items():
            order = np.arange(len(text)) if name == "one" else random.permutation(len(text))
            (folder / f"{split}.txt").write_text("".join(f"{text[i]}\n" for i in order))
        (folder / "rules.txt").write_text(rules)
    return folders[0], folders[1]


@pytest.mark.parametrize("name", EVERY)
def test_no_number_of_a_strategy_changes(
    crowded: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    one, two = (Engine.open(folder, folder / "rules.txt") for folder in crowded)
    assert one.graph.digest != two.graph.digest
    fits = [strategy(name).fit(Fitting(engine, seed=3)) for engine in (one, two)]
    wanted = {"first": (one, fits[0]), "fitted after": (two, fits[1])}
    if fits[0].needs:
        assert fits[0].report == fits[1].report
        for array, other in zip(fits[0].arrays().values(), fits[1].arrays().values(), strict=True):
            np.testing.assert_array_equal(array, other)
        fits[0].save(tmp_path / "fit.kgagg", one.names)
        wanted["fitted before"] = two, open_strategy(tmp_path / "fit.kgagg", two.names)
    found = {}
    for when, (engine, fitted) in wanted.items():
        for ties in ("expected", "random", "frequency"):
            evaluation = evaluate(engine, [fitted], ties=ties)
            found[when, ties] = evaluation.table(), evaluation.intervals()
    for (_, ties), tables in found.items():
        for table, expected in zip(tables, found["first", ties], strict=True):
            pd.testing.assert_frame_equal(table, expected, check_exact=True)


def test_predictions_and_their_probabilities_stay(crowded: tuple[Path, Path]) -> None:
    first, second = (
        kgagg.Model("noisy-or-top-h*").fit(kgagg.Graph.read(folder), folder / "rules.txt")
        for folder in crowded
    )
    pd.testing.assert_frame_equal(first.predict(), second.predict(), check_exact=True)
    queries = [("hub0", "wants", None), (None, "wants", "n7")]
    pd.testing.assert_frame_equal(first.rank(queries), second.rank(queries), check_exact=True)


def test_the_same_rules_are_mined(crowded: tuple[Path, Path]) -> None:
    mined = []
    for folder in crowded:
        call = ["mine", "native", str(folder), "--out", str(folder / "mined.txt"), "-q"]
        assert main(call) == 0
        mined.append((folder / "mined.txt").read_text())
    assert mined[0] == mined[1]
