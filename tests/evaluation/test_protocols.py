"""Protocols: each changes one convention, and is what counting by hand gives."""

from __future__ import annotations

import json
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.evaluation.protocols import PROTOCOLS, compare_protocols
from kgagg.evaluation.run import evaluate
from kgagg.graph.known import known_before
from kgagg.strategies.scoring import score


@pytest.fixture
def unseen(world: Path) -> Engine:
    """`world`, with an entity in test that train does not have."""
    with (world / "test.txt").open("a") as file:
        file.write("e0\tr0\tnew\n")
    return Engine.open(world, world / "rules.txt")


@pytest.fixture
def table(unseen: Engine) -> pd.DataFrame:
    return compare_protocols(
        unseen, evaluate(unseen, ["max", "noisy-or"]).strategies, top_x=0
    ).set_index(["strategy", "protocol"])


def test_ties_are_those_of_evaluate(unseen: Engine, table: pd.DataFrame) -> None:
    names = list(PROTOCOLS)
    for ties, protocol in zip(
        ("expected", "realistic", "optimistic", "pessimistic", "anyburl", "frequency"),
        names,
        strict=False,
    ):
        found = evaluate(unseen, ["max", "noisy-or"], ties=ties, top_x=0).table()
        for strategy in ("max", "noisy-or"):
            for metric in ("mrr", "hits@3"):
                mine = table[metric].loc[strategy, protocol]
                assert mine == pytest.approx(found.loc[strategy, metric])


def by_hand(engine: Engine, *, linked: bool, seen: bool, cut: int | None) -> dict[str, float]:
    """The MRR of max and noisy-or, candidate by candidate."""
    graph = engine.graph
    links: dict[int, set[int]] = {}
    for head, _, tail in graph.train.tolist():
        links.setdefault(head, set()).add(tail)
        links.setdefault(tail, set()).add(head)
    strategies = evaluate(engine, ["max", "noisy-or"]).strategies
    total = dict.fromkeys(("max", "noisy-or"), 0.0)
    counted = 0
    queries = Queries.from_triples(graph.test)
    for firings in engine.apply(queries, known_before(graph, "test"), top_x=0):
        scores = score(firings, strategies)
        part = firings.queries
        for q, entity in enumerate(part.entity.tolist()):
            targets = part.target[part.target_ptr[q] : part.target_ptr[q + 1]].tolist()
            rows = range(firings.query_ptr[q], firings.query_ptr[q + 1])
            for target in targets:
                if seen and not {entity, target} <= links.keys():
                    continue
                counted += 1
                near = links.get(entity, set()) if linked else set()
                for name, values in zip(total, scores, strict=True):
                    found = {int(firings.candidate[row]): values[row] for row in rows}
                    kept = {one: value for one, value in found.items() if one not in near}
                    others = set(targets) - {target}
                    ranks = naive.filtered_ranks(kept, target, others)
                    total[name] += naive.random_order_mean(*ranks, None, cut)
    return {name: value / counted for name, value in total.items()}


@pytest.mark.parametrize(
    ("protocol", "linked", "seen", "cut"),
    [
        ("default", False, False, None),
        ("unseen dropped", False, True, None),
        ("unconnected only", True, False, None),
        ("cut at 2", False, False, 2),
    ],
)
def test_filters_and_cuts_are_what_counting_by_hand_gives(
    unseen: Engine,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    linked: bool,
    seen: bool,
    cut: int | None,
) -> None:
    monkeypatch.setattr("kgagg.evaluation.protocols.CUT", 2)
    strategies = evaluate(unseen, ["max", "noisy-or"]).strategies
    table = compare_protocols(unseen, strategies, top_x=0)
    rows = table[table["protocol"] == ("cut at 100" if cut else protocol)]
    expected = by_hand(unseen, linked=linked, seen=seen, cut=cut)
    assert dict(zip(rows["strategy"], rows["mrr"], strict=True)) == pytest.approx(expected)
    assert rows["queries"].tolist() == [2 * (40 if seen else 41)] * 2


def test_protocols_differ_and_leave_the_default_alone(table: pd.DataFrame) -> None:
    mrr = table["mrr"].loc["max"]
    assert list(mrr) == [mrr[name] for name in PROTOCOLS]
    assert mrr["pessimistic ties"] < mrr["realistic ties"] <= mrr["default"]
    assert mrr["default"] < mrr["optimistic ties"]
    assert mrr["unseen dropped"] > mrr["default"]
    assert mrr["unconnected only"] != pytest.approx(mrr["default"])
    assert np.all(mrr["cut at 100"] <= mrr["default"] + 1e-12)


def test_the_verb_prints_and_writes_them(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    call = ["evaluate", str(world), str(world / "rules.txt"), "-q", "--strategies", "max,max+"]
    assert main([*call, "--protocols", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    found = json.loads(out.read_text())
    rows = {(row["protocol"], row["strategy"]): row["mrr"] for row in found["protocols"]}
    assert len(rows) == 2 * len(PROTOCOLS)
    assert rows["default", "max"] == pytest.approx(found["strategies"]["max"]["mrr"])
    for name in PROTOCOLS:
        line = next(line for line in printed.splitlines() if line.startswith(f"| {name} "))
        assert f" {rows[name, 'max']:.4f} | {rows[name, 'max+']:.4f} " in line
