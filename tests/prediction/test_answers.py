"""Answers to queries, in every form of file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.engine.queries import MISSING, Queries
from kgagg.errors import InputError
from kgagg.evaluation.run import evaluate, ready_strategy
from kgagg.prediction.answers import answer, read_queries
from kgagg.prediction.rankings import rank_rankings, read_rankings
from kgagg.strategies.registry import strategy


def call(world: Path, out: Path, *options: str) -> int:
    return main(["rank", str(world), str(world / "rules.txt"), "-q", "--out", str(out), *options])


@pytest.mark.parametrize("name", ["max+", "noisy-or-top-2", "noisy-or-top-h*", "tuned"])
def test_a_ranking_file_evaluates_to_the_same_ranks(
    world: Path, engine: Engine, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "ranking.txt"
    assert call(world, out, "--strategy", name, "--top-k", "0", "--top-h", "1,2,3") == 0
    graph = engine.graph
    rankings = read_rankings(out, graph.entities, graph.relations)
    found = rank_rankings(
        rankings, graph.entities, graph.relations, graph.facts, name=name, top_k=1000
    )
    expected = evaluate(engine, [name], top_h=[1, 2, 3], top_x=0).ranks
    # the order of the file breaks the ties
    assert (expected.optimistic <= found.optimistic).all()
    assert (found.optimistic <= expected.pessimistic).all()


def test_queries_from_a_file_in_its_order(world: Path, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("e3 r0 ?\n? r1 e5\n\ne1\tr0\te2\ne3 r0 ?\r\n")
    asked = read_queries(path, engine.graph)
    queries = Queries.from_patterns(asked)
    assert queries.direction.tolist() == [0, 1, 0, 1, 0]
    assert np.diff(queries.target_ptr).tolist() == [0, 0, 1, 1, 0]
    assert (asked == MISSING).sum() == 3
    names = {}
    for form in ("tsv", "jsonl", "parquet"):
        out = tmp_path / f"answers.{form}"
        assert call(world, out, "--queries", str(path), "--top-k", "3", "--strategy", "max") == 0
        if form == "jsonl":
            objects = [json.loads(line) for line in out.read_text().splitlines()]
            assert [one["head"] for one in objects] == ["e3", None, "e1", None, "e3"]
            names[form] = [a["entity"] for one in objects for a in one["answers"]]
            continue
        table = pd.read_csv(out, sep="\t") if form == "tsv" else pd.read_parquet(out)
        assert table["rank"].max() == 4
        tails = table["direction"] == "tail"
        names[form] = table["tail"].where(tails, table["head"]).tolist()
    assert names["tsv"] == names["jsonl"] == names["parquet"]
    assert call(world, tmp_path / "x", "--queries", str(path), "--format", "anyburl") == 2
    assert call(world, tmp_path / "x", "--format", "anyburl", "--show-known") == 2


def test_known_facts_are_left_out_or_shown(engine: Engine) -> None:
    queries = Queries.from_patterns(np.array([[0, 0, MISSING]], np.int32))
    for shown in (False, True):
        (found,) = answer(engine, queries, strategy("noisy-or"), show_known=shown, top_k=0)
        assert found.known.any() == shown
        assert (np.diff(found.candidates.score) <= 0).all()
    facts = np.tile(np.array([[0, 0, 0]], np.int32), (len(found.known), 1))
    facts[:, 2] = found.candidates.entity
    assert np.array_equal(engine.graph.facts.contains(facts), found.known)


@pytest.mark.parametrize("ask", ["tails", "heads", "both"])
def test_all_that_is_missing_of_a_relation(
    world: Path, engine: Engine, tmp_path: Path, ask: str
) -> None:
    out, record = tmp_path / "answers.tsv.gz", tmp_path / "record.json"
    options = ["--relation", "r0", "--ask", ask, "--top-k", "0", "--json", str(record)]
    assert call(world, out, *options) == 0
    table = pd.read_csv(out, sep="\t")
    assert set(table["relation"]) == {"r0"}
    assert not table["known"].any()
    facts = engine.graph.train[engine.graph.train[:, 1] == engine.graph.relations.id("r0")]
    given = {"tails": {0}, "heads": {2}, "both": {0, 2}}[ask]
    assert set(table["direction"]) == {("tail", "", "head")[column] for column in given}
    queries = sum(len(np.unique(facts[:, column])) for column in given)
    assert json.loads(record.read_text())["queries"] == queries
    assert call(world, out, "--relation", "r9") == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("e1 r0", "queries.txt:1: expected `head relation [?]`"),
        ("? r0 ?", "queries.txt:1: expected `head relation [?]`"),
        ("? ? e2", "queries.txt:1: expected `head relation [?]`.* or `head [?] tail`"),
        ("e1 r00 ?", "unknown relation 'r00'; did you mean r0"),
        ("? r0 e33", "unknown entity 'e33'; did you mean e3"),
    ],
)
def test_a_line_that_is_no_query_is_told(
    engine: Engine, tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "queries.txt"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        read_queries(path, engine.graph)


def test_no_one_strategy(engine: Engine) -> None:
    with pytest.raises(InputError, match="expected one strategy"):
        ready_strategy(engine, "all")


def test_there_are_as_many_candidates_as_answers(world: Path) -> None:
    # each rule has one candidate: with top_x of 1, the first rule would close the pool
    rules = (f"100\t{50 - i}\t0.4\tr0(X,e{i}) <= r1(X,A)\n" for i in range(12))
    (world / "rules.txt").write_text("".join(rules))
    engine = Engine.open(world, world / "rules.txt")
    head = int(engine.graph.train[engine.graph.train[:, 1] == 1][0, 0])
    queries = Queries.from_patterns(np.array([[head, 0, MISSING]], np.int32))
    found = [
        next(iter(answer(engine, queries, strategy("max"), top_k=3, top_x=top_x)))
        for top_x in (1, 0)
    ]
    assert [len(one.candidates[0]) for one in found] == [3, 3]
