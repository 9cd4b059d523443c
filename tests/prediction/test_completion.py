"""New facts: against all answers one by one, by hand, in every form of file."""

from __future__ import annotations

import json
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.engine.queries import MISSING, Queries
from kgagg.evaluation.run import ready_strategy
from kgagg.prediction import completion
from kgagg.prediction.answers import answer
from kgagg.prediction.completion import COLUMNS, chosen_relations, predict


def naive_completion(engine: Engine, name: str, relation: str) -> dict[naive.Fact, float]:
    """All new facts of a relation, from the answers to each query."""
    graph = engine.graph
    number, entities = graph.relations.id(relation), range(len(graph.entities))
    asked = [(e, number, MISSING) for e in entities] + [(MISSING, number, e) for e in entities]
    queries = Queries.from_patterns(np.array(asked, np.int32))
    chosen = ready_strategy(engine, name, top_x=0)
    answers = {}
    for one in answer(engine, queries, chosen, top_k=0, top_x=0):
        given = one.tail if one.head < 0 else one.head
        query = (int(one.head < 0), relation, graph.entities[given])
        found = zip(*map(np.ndarray.tolist, one.candidates), strict=True)
        answers[query] = {graph.entities[entity]: value for entity, value in found}
    return naive.complete(answers)


@pytest.mark.parametrize("name", ["max", "max+", "noisy-or-top-2", "noisy-or", "noisy-or-top-h*"])
def test_the_best_facts_are_those_of_all_answers(
    engine: Engine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # so small that facts are dropped on the way
    monkeypatch.setattr(completion, "_WAITING", 20)
    graph = engine.graph
    chosen = ready_strategy(engine, name, top_x=0)
    everything = naive_completion(engine, name, "r0")
    for top in (0, 1, 7, 30):
        found = predict(engine, chosen, chosen_relations(graph, ["r0"]), top=top, top_x=0)
        table = found.to_pandas()
        values = sorted(everything.values(), reverse=True)
        assert len(table) == (top or len(values))
        assert table["score"].tolist() == pytest.approx(values[: len(table)])
        facts = list(zip(table["head"], table["relation"], table["tail"], strict=True))
        assert len(set(facts)) == len(facts)
        assert [everything[fact] for fact in facts] == pytest.approx(table["score"].tolist())
        numbers = np.stack([found.facts[name] for name in ("head", "relation", "tail")], axis=1)
        assert not graph.facts.contains(numbers).any()
        assert table["probability"].isna().all()


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.txt").write_text(
        "anna\tlives\tulm\nben\tlives\tulm\nanna\tborn\tulm\nben\tborn\tulm\n"
        "carl\tborn\tbonn\ndora\tborn\tkiel\ndora\tworks\tbonn\n"
    )
    (tmp_path / "valid.txt").write_text("dora\tlives\tkiel\n")
    (tmp_path / "test.txt").write_text("")
    rules = tmp_path / "rules.txt"
    rules.write_text(
        "15\t10\t0.667\tlives(X,Y) <= born(X,Y)\n45\t10\t0.222\tlives(X,Y) <= works(X,Y)\n"
    )
    call = ["predict", str(tmp_path), str(rules), "-q", "--strategy", "max"]
    assert main(call) == 0
    # on valid, kiel is right for dora at .5, in both directions, and bonn is wrong at .2
    assert capsys.readouterr().out.splitlines() == [
        "head\trelation\ttail\tscore\tprobability\trules\trule",
        "carl\tlives\tbonn\t0.5\t1.0\t1\tlives(X,Y) <= born(X,Y)",
        "dora\tlives\tbonn\t0.2\t0.0\t1\tlives(X,Y) <= works(X,Y)",
    ]
    assert main([*call, "--min-score", "0.3", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["tail"] == "bonn"
    assert main([*call, "--relations", "born"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert main([*call, "--relations", "lifes"]) == 2
    assert "did you mean lives" in capsys.readouterr().err


# --- the verb ----------------------------------------------------------------------------------


def test_files(world: Path, tmp_path: Path) -> None:
    tables = []
    call = ["predict", str(world), str(world / "rules.txt"), "-q", "--top", "12"]
    for form in ("tsv.gz", "jsonl", "parquet"):
        out = tmp_path / f"new.{form}"
        record, plot = tmp_path / "record.json", tmp_path / "plot.svg"
        options = ["--out", str(out), "--json", str(record), "--plot", str(plot)]
        assert main([*call, *options]) == 0
        match form:
            case "tsv.gz":
                tables.append(pd.read_csv(out, sep="\t"))
            case "jsonl":
                tables.append(pd.read_json(out, lines=True))
            case _:
                tables.append(pd.read_parquet(out))
    for table in tables:
        assert table.columns.tolist() == list(COLUMNS)
        pd.testing.assert_frame_equal(table, tables[0], check_dtype=False)
    assert tables[0]["probability"].between(0, 1).all()
    assert tables[0]["probability"].is_monotonic_decreasing
    found = json.loads(record.read_text())
    assert found["facts"] == 12
    assert found["reliability"].keys() == {"calibrated", "score"}
    assert "<svg" in plot.read_text()
    assert main([*call, "--format", "parquet"]) == 2
    assert main([*call, "--format", "xlsx"]) == 2
    assert main([*call, "--plot", "plot.gif"]) == 2
    (world / "valid.txt").unlink()
    assert main([*call, "--plot", str(plot)]) == 2
    assert main(call) == 0


@pytest.mark.parametrize("top", [1, 5, 17])
def test_the_cut_at_equal_scores_does_not_depend_on_the_order_of_work(
    world: Path, monkeypatch: pytest.MonkeyPatch, top: int
) -> None:
    # everything that is predicted has the same score
    rules = (f"100\t50\t0.5\tr{i}(X,Y) <= r2(Y,X)\n" for i in (0, 1))
    (world / "rules.txt").write_text("".join(rules))
    engine = Engine.open(world, world / "rules.txt")
    found = []
    for waiting in (1, 1 << 16):
        monkeypatch.setattr(completion, "_WAITING", waiting)
        chosen = ready_strategy(engine, "max", top_x=0)
        # from the last relation to the first, whose facts come first nevertheless
        best = predict(engine, chosen, np.array([1, 0], np.int32), top=top, top_x=0)
        found.append(best.facts)
    assert found[0].tolist() == found[1].tolist()
    assert found[0]["relation"].tolist() == [0] * top
