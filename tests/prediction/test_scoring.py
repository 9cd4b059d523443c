"""Scores of given triples, and their classification."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgagg
from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.errors import InputError
from kgagg.evaluation.run import ready_strategy
from kgagg.explanation.explanation import explain
from kgagg.graph.graph import Graph
from kgagg.prediction.scoring import (
    COLUMNS,
    Scored,
    Thresholds,
    classification,
    score_triples,
)


@pytest.mark.parametrize("name", ["max+", "noisy-or-top-2", "mean", "tuned"])
def test_a_triple_has_the_score_and_the_ranks_of_its_explanation(engine: Engine, name: str) -> None:
    strategy = ready_strategy(engine, name)
    triples = np.concatenate([engine.graph.test[:6], engine.graph.train[:3], [[0, 0, 0]]])
    triples = triples.astype(np.int32)
    found = score_triples(engine, triples, strategy, threads=2)
    assert np.isnan(found.probability).all()
    for triple, score, rank in zip(triples.tolist(), found.score, found.rank, strict=True):
        standings = explain(engine, tuple(triple), strategy).standings
        scores = [one.score for one in standings if one.score is not None]
        assert np.array_equal(score, max(scores, default=np.nan), equal_nan=True)
        expected = [
            (one.optimistic + one.pessimistic) / 2 if one.optimistic else np.nan
            for one in standings
        ]
        assert np.array_equal(rank, expected, equal_nan=True)


def test_others_change_nothing(engine: Engine) -> None:
    strategy = ready_strategy(engine, "noisy-or")
    triples = np.concatenate([engine.graph.test, engine.graph.test[:4]])
    all_of_them = score_triples(engine, triples, strategy)
    for i in range(4):
        one = score_triples(engine, triples[i : i + 1], strategy)
        for row in (i, len(engine.graph.test) + i):
            assert np.array_equal(one.score[0], all_of_them.score[row], equal_nan=True)
            assert np.array_equal(one.rank[0], all_of_them.rank[row], equal_nan=True)


SCORES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([np.nan, 0.1, 0.2, 0.4, 0.9])),
    min_size=1,
    max_size=12,
)


def scored(rows: list[tuple[int, float]]) -> Scored:
    triples = np.array([(0, relation, 1) for relation, _ in rows], np.int32).reshape(-1, 3)
    score = np.array([value for _, value in rows])
    return Scored(triples, score, score, np.full((len(rows), 2), np.nan))


@given(SCORES, SCORES, SCORES, SCORES)
def test_classification_by_its_definition(
    true: list[tuple[int, float]],
    false: list[tuple[int, float]],
    valid: list[tuple[int, float]],
    valid_false: list[tuple[int, float]],
) -> None:
    def low(value: float) -> float:
        return -np.inf if np.isnan(value) else value

    def best(pairs: list[tuple[float, bool]]) -> float:
        """The lowest bar with the highest accuracy."""
        bars = sorted({value for value, _ in pairs} | {np.inf})
        right = [sum((value >= bar) == label for value, label in pairs) for bar in bars]
        return bars[right.index(max(right))]

    known = [(r, low(v), True) for r, v in valid] + [(r, low(v), False) for r, v in valid_false]
    bars = {
        relation: best([(value, label) for one, value, label in known if one == relation])
        for relation, *_ in known
    }
    default = best([(value, label) for _, value, label in known])
    thresholds = Thresholds.fit(scored(valid), scored(valid_false))
    for chosen in (thresholds, None):

        def accepted(row: tuple[int, float], by_relation: bool = chosen is not None) -> bool:
            relation, value = row
            return low(value) >= (bars.get(relation, default) if by_relation else 0.5)

        found = classification(scored(true), scored(false), chosen)
        hits, misses = sum(map(accepted, true)), sum(map(accepted, false))
        correct = hits + len(false) - misses
        assert found["accuracy"] == pytest.approx(correct / (len(true) + len(false)))
        both = 2 * hits + misses + len(true) - hits
        assert found["f1"] == pytest.approx(2 * hits / both)
        pairs = [(low(one), low(other)) for _, one in true for _, other in false]
        wins = sum((one > other) + 0.5 * (one == other) for one, other in pairs)
        assert found["auc"] == pytest.approx(wins / len(pairs))


def test_without_probabilities_thresholds_are_needed() -> None:
    one = Scored(np.zeros((1, 3), np.int32), np.ones(1), np.full(1, np.nan), np.ones((1, 2)))
    with pytest.raises(InputError, match="expected --valid-negatives"):
        classification(one, one)
    with pytest.raises(InputError, match="nothing to classify"):
        classification(one, scored([]))


def write(path: Path, graph: Graph, triples: np.ndarray) -> str:
    lines = (
        f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}\n"
        for h, r, t in triples.tolist()
    )
    path.write_text("".join(lines))
    return str(path)


def test_the_command_and_python_agree(
    world: Path, engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = engine.graph
    generator = np.random.default_rng(0)

    def corrupted(triples: np.ndarray) -> np.ndarray:
        wrong = triples.copy()
        wrong[:, 2] = generator.permutation(wrong[:, 2])
        return wrong

    false = write(tmp_path / "false.txt", graph, corrupted(graph.test))
    valid_false = write(tmp_path / "valid_false.txt", graph, corrupted(graph.valid))
    out, record = tmp_path / "scores.csv", tmp_path / "record.json"
    call = ["score", str(world), str(world / "rules.txt"), "-q", "--negatives", false]
    call += ["--triples", str(world / "test.txt")]
    call += ["--valid-negatives", valid_false, "--json", str(record)]
    assert main([*call, "--out", str(out)]) == 0
    written = json.loads(record.read_text())
    model = kgagg.Model().fit(graph, world / "rules.txt")
    tables = [
        pd.read_csv(path, sep="\t", names=["head", "relation", "tail"])
        for path in (world / "test.txt", false, valid_false)
    ]
    expected = model.classify(*tables)
    assert {name: written[name] for name in ("accuracy", "f1", "auc")} == pytest.approx(expected)
    printed = " ".join(f"{name} {value:.4f}" for name, value in expected.items())
    assert printed in capsys.readouterr().out
    table = pd.read_csv(out)
    assert list(table) == [*COLUMNS, "label"]
    both = pd.concat([model.score_triples(part) for part in tables[:2]], ignore_index=True)
    pd.testing.assert_frame_equal(table.drop(columns="label"), both)
    assert main([*call[:4], "--triples", false]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head == "\t".join(COLUMNS)
    assert len(first.split("\t")) == len(COLUMNS)
    direct = kgagg.score_triples(graph, world / "rules.txt", tables[1])
    pd.testing.assert_frame_equal(direct, model.score_triples(tables[1]))


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("e1 r0 ?", [], "has a `?`, expected head, relation and tail on each line"),
        ("e1 r0 e2\ne1 r9 e2", [], "x.txt:2: unknown relation 'r9'"),
        ("", [], "holds no triple to score"),
        ("e1 r0 e2", ["--valid-negatives", "y"], "expected --negatives FILE"),
    ],
)
def test_what_cannot_be_scored_is_told(
    world: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: str,
    options: list[str],
    message: str,
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(lines)
    call = ["score", str(world), str(world / "rules.txt"), "-q", "--triples", str(path)]
    assert main([*call, *options]) == 2
    assert message in capsys.readouterr().err


def test_triples_are_read_in_the_formats_of_graphs(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    triples = Graph.read(world).to_pandas("test")
    places = [tmp_path / name for name in ("t.tsv", "t.csv", "t.parquet")]
    triples.to_csv(places[0], sep="\t", header=False, index=False)
    triples.to_csv(places[1], index=False)
    triples.to_parquet(places[2])
    printed = []
    for place in places:
        call = ["score", str(world), str(world / "rules.txt"), "--triples", str(place)]
        assert main(call) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
