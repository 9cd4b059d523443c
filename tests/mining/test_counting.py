"""Exact counts of rules against nested loops."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import naive
import numpy as np
import pytest
from drawn import Case, cases
from hypothesis import given
from ruled import chain

import kgagg
from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.mining.counting import count, predictions, reestimate
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import SIDE, XX


def expected(case: Case, line: int, flags: int) -> set[tuple[str, str]]:
    """The pairs that a rule predicts, seen from the variable of its head."""
    meaning = dataclasses.replace(case.semantics, branching=0, discrimination=0)
    rule = case.rules[line - 1]
    there = {entity for head, _, tail in case.facts for entity in (head, tail)}
    pairs = set()
    for (direction, _, entity), others in naive.predictions(
        set(case.facts), case.entities, rule, meaning
    ).items():
        if direction == bool(flags & (SIDE | XX)) and entity in there:
            pairs |= {(other, entity) if direction else (entity, other) for other in others}
    return pairs


@given(cases(longest=5))
def test_counts_are_those_of_nested_loops(case: Case) -> None:
    world = case.world()
    rules, graph = world.rules, world.graph
    predicted, correct = count(rules, graph, case.semantics, threads=1)
    again = count(rules, graph, case.semantics, threads=3)
    assert np.array_equal(again, (predicted, correct))
    names = graph.entities
    for row, (line, flags) in enumerate(
        zip(rules.line.tolist(), rules.flags.tolist(), strict=True)
    ):
        rule = case.rules[line - 1]
        pairs = expected(case, line, flags)
        right = {pair for pair in pairs if (pair[0], rule.head[0], pair[1]) in case.facts}
        assert (predicted[row], correct[row]) == (len(pairs), len(right)), str(rule)
        if row < 3:
            found = predictions(rules, graph, row, case.semantics)
            assert {(names[head], names[tail]) for head, _, tail in found.tolist()} == pairs
            assert len(found) == len(pairs)


def test_the_rules_are_ranked_again(world: Path) -> None:
    graph = Graph.from_folder(world)
    settings = Confidence.preset("anyburl")
    rules = RuleSet.read(world / "rules.txt", (graph.entities, graph.relations), settings)
    again = reestimate(rules, graph)
    assert (np.diff(again.confidence) <= 0).all()
    assert sorted(map(again.text, range(9))) == sorted(map(rules.text, range(9)))
    zero = next(row for row in range(9) if not again.length[row])
    entities = len(np.unique(graph.train[:, [0, 2]]))
    facts = np.unique(graph.train, axis=0)
    r0, e4 = graph.relations.id("r0"), graph.entities.id("e4")
    assert again.predicted[zero] == entities
    assert again.correct[zero] == ((facts[:, 1] == r0) & (facts[:, 2] == e4)).sum()


def test_the_verb_writes_them(world: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    call = ["rules", str(world / "rules.txt"), "-q", "--reestimate", str(world), "--to", str(out)]
    assert main(call) == 0
    graph = Graph.from_folder(world)
    names = (graph.entities, graph.relations)
    written = RuleSet.read(out, names)
    exact = reestimate(RuleSet.read(world / "rules.txt", names), graph)
    assert np.array_equal(written.confidence, exact.confidence)
    assert np.array_equal(written.predicted, exact.predicted)
    assert main([*call, "--data", str(world)]) == 2


def test_wnrr(shared_data: Path, wnrr: Path) -> None:
    """AnyBURL's counts are exact where they are small enough not to be sampled."""
    graph = Graph.from_folder(wnrr)
    path = shared_data / "rules" / "wnrr.anyburl.rules.xz"
    rules = RuleSet.read(path, (graph.entities, graph.relations))
    predicted, correct = count(rules, graph)
    constant = rules.types == 1
    same = (predicted == rules.predicted) & (correct == rules.correct)
    assert same[constant].mean() > 0.999


@pytest.mark.parametrize("name", ["anyburl", "pyclause"])
def test_no_rules(world: Path, name: str) -> None:
    graph = Graph.from_folder(world)
    rules = RuleSet.read(world / "rules.txt", (graph.entities, graph.relations))
    none = dataclasses.replace(rules, **{k: v[:0] for k, v in rules.columns().items()})  # type: ignore[arg-type]
    assert len(reestimate(none, graph, name)) == 0


def test_a_body_that_would_take_for_ever_is_refused(world: Path, tmp_path: Path) -> None:
    body = chain("XABCDEFGHIJKLMNY").replace("r(", "r0(")
    (tmp_path / "rules.txt").write_text(f"200\t150\t0.75\tr0(X,Y) <= {body}\n")
    graph = Graph.from_folder(world)
    rules = RuleSet.read(tmp_path / "rules.txt", (graph.entities, graph.relations))
    with pytest.raises(InputError, match="15 body atoms; the engine takes up to 14"):
        count(rules, graph)


def test_long_bodies_get_more_room(tmp_path: Path) -> None:
    # far more sets of entities than there is room for at first
    ends = np.random.default_rng(0).integers(0, 3000, (18000, 2))
    lines = [*(f"e{head}\tr\te{tail}" for head, tail in ends), "start\tr\te0", "start\tb\te1"]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    body = f"b(X,A), {chain('ABCDEY')}"
    (tmp_path / "rules.txt").write_text(f"200\t150\t0.75\tr(X,Y) <= {body}\n")
    graph = Graph.from_folder(tmp_path)
    rules = RuleSet.read(tmp_path / "rules.txt", (graph.entities, graph.relations))
    predicted, correct = count(rules, graph, threads=1)
    pairs = predictions(rules, graph, 0, threads=1)
    assert predicted[0] == len(pairs) > 2800
    assert correct[0] == graph.adjacency.contains(pairs).sum()


def test_rules_without_statistics_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = [(f"a{i}", "s", f"b{i}") for i in range(9)] + [
        (f"a{i}", "r", f"b{i}") for i in range(3)
    ]
    graph = kgagg.Graph.from_triples(facts, test=[("a5", "r", "b5")])
    lines = ["r(X,Y) <= s(X,Y)", "50\t20\t0.4\tr(X,b4) <= s(X,b4)"]
    rules = kgagg.RuleSet.from_text(lines, confidence=kgagg.Confidence.preset("anyburl"))
    scores = kgagg.rank(graph, rules, ("a4", "r", None), "max")
    # 20 of 50, and 3 of 9; five more predictions are taken for wrong
    assert scores["score"].tolist() == pytest.approx([20 / 55])
    scores = kgagg.rank(graph, rules, ("a5", "r", "b5"), "max", show_known=True)
    assert set(scores["score"].round(6)) == {round(3 / 14, 6)}
    always = kgagg.rank(
        graph, rules, ("a5", "r", "b5"), "max", show_known=True, semantics="pyclause"
    )
    assert always["score"].max() > 0.9
    (tmp_path / "rules").write_text("\n".join(lines) + "\n")
    folder = str(graph.write(tmp_path / "graph"))
    assert main(["rank", folder, str(tmp_path / "rules"), "--strategy", "max"]) == 0
    told = capsys.readouterr()
    assert "1 rules came without statistics: counted on train" in told.err
    assert f"{3 / 14:.6f}"[:7] in told.out
