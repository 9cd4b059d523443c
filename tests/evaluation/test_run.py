"""Evaluation from the graph to the numbers: the verb, its JSON, tuning and ties."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.errors import InputError
from kgagg.evaluation.run import evaluate
from kgagg.graph.graph import Graph
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import values
from kgagg.strategies.registry import PAPER
from kgagg.strategies.scoring import rank_split


def test_the_verb_prints_a_table_and_writes_the_contracts_json(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json", tmp_path / "ranks.parquet"
    call = ["evaluate", str(world), str(world / "rules.txt"), "-q", "--intervals"]
    assert main([*call, "--json", str(out[0]), "--ranks", str(out[1])]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[1] for line in printed.splitlines()[2:]] == list(PAPER)
    found = json.loads(out[0].read_text())
    assert found["strategies"].keys() == set(PAPER)
    for entry in found["strategies"].values():
        assert entry.keys() >= {"mrr", "hits@1", "hits@3", "hits@10", "tied", "bracket", "interval"}
        low, high = entry["bracket"]["mrr"]
        assert 0 < low <= entry["mrr"] <= high <= 1
        assert f"{entry['mrr']:.4f}" in printed
    assert found["strategies"]["noisy-or-top-h*"]["chosen"].keys() == {"r0", "r1", "r2"}
    stages = {"load", "index", "compile", "fit", "apply", "aggregate", "total"}
    assert found["seconds"].keys() == stages
    assert found["rules"]["total"] == 9
    assert found["rules"]["cyclic"] == 6
    assert found["queries"] == 2 * 40
    assert found["peak_rss_mb"] > 10
    ranks = Ranks.read(out[1])
    assert set(ranks.strategies) == set(PAPER)
    for name, value in zip(ranks.strategies, values(ranks).mean(axis=(1, 2)), strict=True):
        assert found["strategies"][name]["mrr"] == pytest.approx(value)


def test_each_strategy_alone_gives_what_it_gives_among_all(engine: Engine) -> None:
    together = evaluate(engine, ["all"], top_h=[1, 2, 3, 0]).ranks
    expected = {"max", "max+", "noisy-or-top-2", "noisy-or-top-h*", "mean", "log-odds", "tuned"}
    assert expected <= set(together.strategies)
    for name in together.strategies:
        alone = evaluate(engine, [name], top_h=[1, 2, 3, 0], threads=1).ranks
        assert np.array_equal(alone.optimistic, together.only([name]).optimistic), name
        assert np.array_equal(alone.pessimistic, together.only([name]).pessimistic), name


def test_files_stand_for_what_was_fitted(world: Path, engine: Engine, tmp_path: Path) -> None:
    learned, tuned = (str(tmp_path / name) for name in ("l.kgagg", "t.kgagg"))
    inputs = [str(world), str(world / "rules.txt"), "-q"]
    assert main(["fit", *inputs, "--strategy", "learned", "--out", learned]) == 0
    assert main(["fit", *inputs, "--strategy", "noisy-or-top-h*", "--out", tuned]) == 0
    # without valid nothing could be fitted
    (world / "valid.txt").write_text("")
    again = Engine(Graph.from_folder(world), engine.rules)
    expected = evaluate(engine, ["max", "learned", "noisy-or-top-h*"]).ranks
    found = evaluate(again, ["max", learned, tuned]).ranks
    assert found.strategies == expected.strategies
    # nothing of valid is filtered now, so that ranks may be lower, but not better
    assert np.all(found.optimistic >= expected.optimistic)
    assert main(["explain", *inputs, "e0", "r0", "e1", "--strategy", learned]) == 0


def test_a_tuned_strategy_ranks_test_by_its_choice_on_valid(engine: Engine) -> None:
    found = evaluate(engine, ["noisy-or-top-h*"], top_h=[1, 2])
    again = rank_split(engine, "test", found.strategies)
    assert np.array_equal(again.optimistic, found.ranks.optimistic)
    # on valid itself it is at least as good as its choices
    on_valid = evaluate(
        engine, ["max+", "noisy-or-top-2", "noisy-or-top-h*"], "valid", top_h=[1, 2]
    )
    mrr = on_valid.table()["mrr"]
    assert mrr["noisy-or-top-h*"] >= mrr.max() - 1e-12


def test_frequency_breaks_every_tie(engine: Engine) -> None:
    table = evaluate(engine, ["max"], ties="frequency").table()
    assert not table["tied"].any()
    assert evaluate(engine, ["max"]).table()["tied"].all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--strategies", "noisy-and"], "unknown strategy 'noisy-and', expected one of all, .*"),
        (["--strategies", "learned.kgagg"], "learned.kgagg: no such file"),
        (["--json", "/proc/out.json"], "/proc/.*: No such file or directory"),
        (["--ties", "expcted"], "expcted: no such tie policy, .*; did you mean expected"),
        (["--semantics", "anybrl"], "anybrl: no such semantics, .*; did you mean anyburl"),
    ],
)
def test_what_does_not_exist_is_told_in_one_line(
    world: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["evaluate", str(world), str(world / "rules.txt"), "-q", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)


def test_an_empty_split_is_told(world: Path, engine: Engine) -> None:
    (world / "valid.txt").write_text("")
    graph = Graph.from_folder(world)
    again = Engine(graph, engine.rules)
    with pytest.raises(
        InputError, match=r"noisy-or-top-h\* is fitted on the valid split, which is empty"
    ):
        evaluate(again)
    evaluate(again, ["max"])
