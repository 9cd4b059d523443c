"""All facts that rules predict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest
from drawn import Case, cases
from hypothesis import given, settings

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.mining.counting import predictions
from kgagg.prediction.completion import chosen_relations
from kgagg.prediction.materialising import COLUMNS, materialise


@settings(max_examples=80)
@given(cases(3))
def test_every_fact_has_the_rules_that_predict_it(case: Case) -> None:
    world = case.world()
    graph, rules = world.graph, world.rules
    unbounded = replace(case.semantics, branching=0, discrimination=0)
    live = sorted({entity for head, _, tail in case.facts for entity in (head, tail)})
    expected: dict[naive.Fact, list[int]] = {}
    for rank, line in enumerate(rules.line.tolist()):
        rule = case.rules[line - 1]
        relation, subject, object_ = rule.head
        heads = not naive.is_variable(subject) or subject == object_
        for (direction, _, entity), others in naive.predictions(
            set(case.facts), case.entities, rule, unbounded
        ).items():
            if direction == heads and entity in live:
                for other in others:
                    pair = (other, relation, entity) if heads else (entity, relation, other)
                    if pair not in case.facts:
                        expected.setdefault(pair, []).append(rank)
    if not case.facts:
        return
    tables = list(
        materialise(graph, rules, chosen_relations(graph, None), case.semantics, threads=1)
    )
    found = pd.concat(tables, ignore_index=True)
    assert list(found) == list(COLUMNS)
    facts = list(zip(found["head"], found["relation"], found["tail"], strict=True))
    assert len(set(facts)) == len(facts)
    ids = [graph.relations.id(relation) for _, relation, _ in facts]
    assert ids == sorted(ids)
    assert set(facts) == set(expected)
    for fact, row in zip(facts, found.itertuples(), strict=True):
        assert row.rules == len(expected[fact])
        assert row.rule == rules.text(min(expected[fact]))
        assert row.confidence == rules.confidence[min(expected[fact])]


def test_counts_are_those_of_the_rules(
    world: Path, engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, rules = engine.graph, engine.rules
    out, record = tmp_path / "facts.parquet", tmp_path / "record.json"
    call = ["materialise", str(world), str(world / "rules.txt"), "-q"]
    assert main([*call, "--out", str(out), "--json", str(record)]) == 0
    table = pd.read_parquet(out)
    known = {tuple(row) for split in (graph.train, graph.valid, graph.test) for row in split}
    every = [predictions(rules, graph, row) for row in range(len(rules))]
    new = [[tuple(row) for row in part if tuple(row) not in known] for part in every]
    assert table["rules"].sum() == sum(map(len, new))
    assert len(table) == len({fact for part in new for fact in part})
    written = json.loads(record.read_text())
    assert written["facts"] == len(table) == sum(written["relations"].values())
    assert main([*call, "--relations", "r0", "--min-confidence", "0.5"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split("\t") == list(COLUMNS)
    assert lines
    assert {line.split("\t")[1] for line in lines} == {"r0"}
    assert min(float(line.split("\t")[4]) for line in lines) >= 0.5
    assert np.all([line.split("\t")[5] for line in lines])
