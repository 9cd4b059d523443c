"""Splits of a whole graph: what they hold, and what they must not give away."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.graph.graph import SPLITS, Graph
from kgagg.graph.leakage import leaking
from kgagg.graph.splitting import split_graph
from kgagg.graph.statistics import statistics

# parents and children are inverse, spouses symmetric, names and titles duplicates
FAMILY = [
    fact
    for i in range(60)
    for fact in (
        (f"p{i}", "parent of", f"c{i}"),
        (f"c{i}", "child of", f"p{i}"),
        (f"p{i}", "spouse", f"q{i}"),
        (f"q{i}", "spouse", f"p{i}"),
        (f"p{i}", "name", f"n{i % 7}"),
        (f"p{i}", "title", f"n{i % 7}"),
        (f"c{i}", "likes", f"c{(i * 7) % 60}"),
    )
]

names = st.sampled_from("abcdefgh")
facts = st.lists(st.tuples(names, st.sampled_from("rst"), names), min_size=30, max_size=120)


def entities(triples: list[tuple[str, str, str]]) -> set[str]:
    return {entity for head, _, tail in triples for entity in (head, tail)}


def by_name(graph: Graph, split: str) -> list[tuple[str, str, str]]:
    return list(graph.to_pandas(split).itertuples(index=False, name=None))


@settings(max_examples=50)
@given(facts, st.randoms(), st.booleans())
def test_every_triple_is_in_one_split_and_every_name_in_train(
    triples: list[tuple[str, str, str]], order: random.Random, no_leak: bool
) -> None:
    graph = Graph.from_triples(triples)
    try:
        split = split_graph(graph, (0.8, 0.1, 0.1), seed=5, no_leak=no_leak)
    except InputError:
        assume(False)
    parts = [by_name(split, name) for name in SPLITS]
    assert sorted(fact for part in parts for fact in part) == sorted(set(triples))
    assert entities(triples) == entities(parts[0])
    assert {r for _, r, _ in triples} == {r for _, r, _ in parts[0]}
    if no_leak:
        assert not leaking(split).any()
        assert not leaking(split, "valid").any()
    else:
        assert [len(part) for part in parts[1:]] == [round(0.1 * len(set(triples)))] * 2
    # neither the order of triples nor earlier splits matter
    order.shuffle(triples)
    cut = len(triples) // 2
    again = split_graph(Graph.from_triples(triples[:cut], triples[cut:]), seed=5, no_leak=no_leak)
    assert again.digest == split.digest


def naive_leaks(graph: Graph) -> int:
    train = set(by_name(graph, "train"))
    pairs: dict[str, set[tuple[str, str]]] = {}
    for split in SPLITS:
        for h, r, t in by_name(graph, split):
            pairs.setdefault(r, set()).add((h, t))

    def leaks(h: str, r: str, t: str) -> bool:
        for other, theirs in pairs.items():
            own = {pair for pair in pairs[r] if pair[0] != pair[1]}
            far = {pair for pair in theirs if pair[0] != pair[1]}
            turned = {(b, a) for a, b in far}
            least = 0.8 * max(len(own), len(far))
            if other != r and far and len(own & far) >= least and (h, other, t) in train:
                return True
            if far and len(own & turned) >= least and (t, other, h) in train:
                return True
        return False

    return sum(leaks(*fact) for fact in by_name(graph, "test"))


@settings(max_examples=50)
@given(facts, st.integers(0, 9))
def test_what_is_given_away_is_counted(triples: list[tuple[str, str, str]], seed: int) -> None:
    # one relation is nearly the inverse of another
    triples = [*triples, *((t, "u", h) for h, r, t in triples if r == "r"), ("a", "r", "b")]
    try:
        graph = split_graph(Graph.from_triples(triples), (0.7, 0.0, 0.3), seed=seed)
    except InputError:
        assume(False)
    assert int(leaking(graph).sum()) == naive_leaks(graph) == statistics(graph)["given away"]


def test_split_and_stats_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "family.csv"
    file.write_text("".join(f"{h},{r},{t}\n" for h, r, t in FAMILY))
    plain, safe = str(tmp_path / "plain"), str(tmp_path / "safe")
    assert main(["split", str(file), "--out", plain]) == 0
    assert "follow from a related relation in train (--no-leak)" in capsys.readouterr().err
    assert main(["split", str(file), "--out", safe, "--no-leak", "--ratio", "0.8,0,0.2"]) == 0
    assert "warning" not in capsys.readouterr().err
    assert statistics(Graph.read(plain))["given away"] > 0
    graph = Graph.read(safe)
    assert statistics(graph)["given away"] == 0
    assert 70 < len(graph.test) <= 84
    assert graph.digest == split_graph(Graph.read(file), (0.8, 0, 0.2), no_leak=True).digest
    assert main(["stats", plain]) == 0
    assert "given away" in capsys.readouterr().out
    for words, problem in (
        ([str(file), "--out", plain], "is there already"),
        ([str(file), "--out", f"{file}/x"], "is a file, expected a folder"),
        ([str(file), "--out", f"{plain}2", "--ratio", "0.8,0.1"], "expected three shares"),
        ([str(file), "--out", f"{plain}2", "--ratio", "0.8,0.1,0.3"], "that sum to 1"),
        ([str(file), "--out", f"{plain}2", "--ratio", "0.1,0.4,0.5"], "can be left out of train"),
    ):
        assert main(["split", *words]) == 2
        assert problem in capsys.readouterr().err
    assert not Path(f"{plain}2").exists()


def test_a_whole_graph_is_evaluated_with_a_split_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, rules = tmp_path / "family.tsv", tmp_path / "rules.txt"
    file.write_text("".join(f"{h}\t{r}\t{t}\n" for h, r, t in FAMILY))
    rules.write_text("parent of(X,Y) <= child of(Y,X)\nspouse(X,Y) <= spouse(Y,X)\n")
    call = ["evaluate", str(file), str(rules), "--strategies", "max"]
    assert main(call) == 2
    assert "the test split is empty: split the graph with `kgagg split`" in capsys.readouterr().err
    assert main([*call, "--split", "0.8,0.1,0.1", "--seed", "3"]) == 0
    told = capsys.readouterr()
    assert "know its test triples" in told.err
    split_graph(Graph.read(file), seed=3).write(tmp_path / "split")
    assert main(["evaluate", str(tmp_path / "split"), *call[2:]]) == 0
    assert capsys.readouterr().out == told.out
    assert main(["evaluate", str(tmp_path / "split"), *call[2:], "--split", "0.8,0.1,0.1"]) == 2
    assert "is split already" in capsys.readouterr().err


def test_a_split_is_written_as_it_is_read(tmp_path: Path) -> None:
    graph = split_graph(Graph.from_triples(FAMILY))
    again = Graph.read(graph.write(tmp_path / "family"))
    assert again.digest == graph.digest
    for split in SPLITS:
        assert np.array_equal(again.split(split), graph.split(split))
