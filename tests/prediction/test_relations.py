"""Relations between a head and a tail."""

from __future__ import annotations

import json
from pathlib import Path

import naive
import numpy as np
import pytest
from drawn import Case, cases
from hypothesis import given, settings

import kgagg
from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.prediction.relations import rank_relations
from kgagg.prediction.scoring import score_triples
from kgagg.strategies.registry import strategy


@settings(max_examples=60)
@given(cases(3))
def test_relations_are_those_that_rules_predict(case: Case) -> None:
    world = case.world()
    rows = [case.rules[line - 1] for line in world.rules.line]
    confidence = world.rules.confidence
    fired = [
        naive.predictions(set(case.facts), case.entities, rule, case.semantics) for rule in rows
    ]
    engine = Engine(world.graph, world.rules, case.semantics)
    names, relations = world.graph.entities, world.graph.relations
    few = case.entities[:4]
    pairs = [(head, tail) for head in few for tail in few]
    numbers = np.array([[names.id(head), names.id(tail)] for head, tail in pairs], np.int32)
    found = rank_relations(engine, numbers, strategy("max"), top_k=0, show_known=True, threads=1)
    for (head, tail), answers in zip(pairs, found, strict=True):
        scores: dict[str, float] = {}
        for rank, predicted in enumerate(fired):
            relation = rows[rank].head[0]
            if tail in predicted.get((0, relation, head), ()) or head in predicted.get(
                (1, relation, tail), ()
            ):
                scores.setdefault(relation, confidence[rank])
        order = sorted(scores, key=lambda name: (-scores[name], relations.id(name)))
        assert [relations[i] for i in answers.candidates.entity.tolist()] == order
        assert answers.candidates.score.tolist() == [scores[name] for name in order]


def test_the_score_is_that_of_the_triple(engine: Engine) -> None:
    chosen = strategy("noisy-or-top-2")
    pairs = engine.graph.test[:10, ::2]
    for answers in rank_relations(engine, pairs, chosen, top_k=0, show_known=True):
        relation, score = answers.candidates
        triples = np.array([(answers.head, r, answers.tail) for r in relation], np.int32)
        found = score_triples(engine, triples.reshape(-1, 3), chosen)
        assert np.array_equal(found.score, score)


def test_in_a_file_of_queries(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("e1 ? e2\ne3\t?\te4\n")
    call = ["rank", str(world), str(world / "rules.txt"), "-q", "--queries", str(path)]
    assert main([*call, "--show-known"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split("\t")[:4] == ["head", "relation", "tail", "direction"]
    assert {line.split("\t")[3] for line in lines} == {"relation"}
    graph = kgagg.Graph.read(world)
    table = kgagg.rank(
        graph,
        world / "rules.txt",
        [("e1", None, "e2"), ("e3", "?", "e4")],
        show_known=True,
    )
    assert [line.split("\t")[1] for line in lines] == table["relation"].tolist()
    assert main([*call, "--format", "jsonl"]) == 0
    one, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert one["relation"] is other["relation"] is None
    assert all(answer["relation"] in graph.relations.names() for answer in one["answers"])
    path.write_text("e1 ? e2\ne3 r0 ?\n")
    assert main(call) == 2
    assert "expected one kind only" in capsys.readouterr().err


def test_the_best_relation_is_explained(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = kgagg.Graph.read(world)
    model = kgagg.Model("noisy-or").fit(graph, world / "rules.txt")
    table = model.predict(["r0"], 1)
    head, tail = (str(table.loc[0, side]) for side in ("head", "tail"))
    best = model.rank([(head, None, tail)])
    call = ["explain", str(world), str(world / "rules.txt"), head, "?", tail, "-q"]
    assert main([*call, "--strategy", "noisy-or"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    listed = (f"{row.relation} ({row.score:.3f})" for row in best.head(5).itertuples())
    assert first == f"relations: {', '.join(listed)}"
    assert rest[0] == str(model.explain(head, str(best.loc[0, "relation"]), tail)).splitlines()[0]
    assert str(model.explain(head, None, tail)).splitlines() == rest
    (world / "rules.txt").write_text("10\t5\t0.5\tr0(X,Y) <= r1(X,Y)\n")
    assert main(["explain", str(world), str(world / "rules.txt"), "e1", "?", "e1", "-q"]) == 2
    assert "no rule predicts a new relation" in capsys.readouterr().err
