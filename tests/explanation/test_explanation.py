"""Explanations: groundings against nested loops, shares, ranks, what is missing."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from drawn import Case, cases
from hypothesis import given

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.evaluation.run import ready_strategy
from kgagg.explanation.explanation import explain, find_fact
from kgagg.explanation.groundings import groundings
from kgagg.graph.graph import Graph
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.registry import names, strategy
from kgagg.strategies.scoring import rank_split

EVERY = [name.replace("-top-h", "-top-2") if name.endswith("-h") else name for name in names()]


@given(cases(longest=4))
def test_a_rule_has_a_grounding_if_and_only_if_it_predicts_the_fact(case: Case) -> None:
    meaning = dataclasses.replace(case.semantics, discrimination=0)
    world = case.world()
    graph, entities = world.graph, case.entities[:6]
    for row, line in enumerate(world.rules.line.tolist()):
        rule = case.rules[line - 1]
        predicted = naive.predictions(set(case.facts), case.entities, rule, meaning)
        for direction in range(2):
            for entity in entities:
                answers = predicted.get((direction, rule.head[0], entity), set())
                for other in entities:
                    pair = (other, entity) if direction else (entity, other)
                    head, tail = map(graph.entities.id, pair)
                    found = list(
                        groundings(graph, world.rules, row, head, tail, meaning, direction)
                    )
                    assert bool(found) == (other in answers), (str(rule), direction, pair)
                    assert len(set(found)) == len(found)
                    facts = np.array([fact for way in found for fact in way], np.int32)
                    assert graph.adjacency.contains(facts.reshape(-1, 3)).all()
                    assert all(len(way) == len(rule.body) for way in found)


@pytest.mark.parametrize("name", EVERY)
def test_ranks_are_those_of_the_evaluation(engine: Engine, name: str) -> None:
    chosen = ready_strategy(engine, name, top_h=[1, 2, 3], top_x=0)
    ranks = rank_split(engine, "test", [chosen], top_x=0)
    for i, triple in enumerate(engine.graph.test[:15].tolist()):
        found = explain(engine, tuple(triple), chosen)
        for direction, standing in enumerate(found.standings):
            assert standing.optimistic == ranks.optimistic[0, i, direction]
            assert standing.pessimistic == ranks.pessimistic[0, i, direction]
            parts: list[Any] = [*standing.reasons, *standing.features]
            assert not parts or sum(abs(part.share) for part in parts) == pytest.approx(1)
            if standing.features:
                assert sum(part.adds for part in parts) == pytest.approx(standing.score)
            assert all(reason.groundings for reason in standing.reasons)


def test_what_would_bring_a_fact_to_the_first_place_does(world: Path, engine: Engine) -> None:
    graph = engine.graph
    names = graph.entities
    tried = 0
    for triple in graph.test.tolist():
        for standing in explain(engine, tuple(triple), strategy("noisy-or")).standings:
            for needed in standing.needed:
                head, relation, tail = needed.fact
                # what takes any entity takes one that nothing is known about
                words = [names[head] if head >= 0 else "new", graph.relations[relation]]
                words.append(names[tail] if tail >= 0 else "new")
                train = (world / "train.txt").read_text()
                (world / "train.txt").write_text(train + "\t".join(words) + "\n")
                again = Graph.from_folder(world)
                (world / "train.txt").write_text(train)
                rules = RuleSet.read(
                    world / "rules.txt",
                    (again.entities, again.relations),
                    Confidence.preset("anyburl"),
                )
                fact = find_fact(
                    again, names[triple[0]], graph.relations[triple[1]], names[triple[2]]
                )
                changed = explain(Engine(again, rules), fact, strategy("noisy-or"))
                after = changed.standings[standing.direction]
                assert needed.rule in [reason.rule for reason in after.reasons]
                tried += after.pessimistic == 1
    assert tried > 10


def test_the_verb(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labels").write_text("e1\tAnna\ne2\tBerlin\nunknown\tX\n")
    out = tmp_path / "out.json", tmp_path / "out.html"
    call = ["explain", str(world), str(world / "rules.txt"), "e0", "r0", "e1", "-q"]
    options = ["--json", str(out[0]), "--html", str(out[1]), "--labels", str(tmp_path / "labels")]
    assert main([*call, *options, "--strategy", "noisy-or"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("r0(e0, Anna), by noisy-or")
    found = json.loads(out[0].read_text())
    best = found["tail"]["reasons"][0]
    assert found["fact"] == ["e0", "r0", "Anna"]
    assert best["rule"] in printed
    assert best["confidence"] == pytest.approx(best["correct"] / (best["predicted"] + 5))
    page = out[1].read_text()
    assert "<svg" in page
    assert "http" not in page


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["e00", "r0", "e1"], "unknown entity 'e00'; did you mean e0"),
        (["e0", "rr0", "e1"], "unknown relation 'rr0'; did you mean r0"),
    ],
)
def test_unknown_names(
    world: Path, capsys: pytest.CaptureFixture[str], names: list[str], message: str
) -> None:
    assert main(["explain", str(world), str(world / "rules.txt"), *names, "-q"]) == 2
    assert message in capsys.readouterr().err
