"""Answers that keep to some entities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kgagg
from kgagg.cli import main


@pytest.fixture
def model(world: Path) -> kgagg.Model:
    return kgagg.Model("noisy-or", top_x=3).fit(kgagg.Graph.read(world), world / "rules.txt")


def test_top_k_are_the_best_of_those_that_are_allowed(model: kgagg.Model) -> None:
    names = model.engine_.graph.entities.names()
    some = names[::3]
    everything = kgagg.Model("noisy-or", top_x=0).fit(model.engine_.graph, model.engine_.rules)
    queries: list[tuple[str | None, str, str | None]] = [
        *((name, "r0", None) for name in names[:8]),
        *((None, "r0", name) for name in names[:8]),
    ]
    for sides in ({"tails": some}, {"heads": some}, {"heads": some, "tails": names[1::2]}):
        found = model.rank(queries, 3, heads=sides.get("heads"), tails=sides.get("tails"))
        tails = found[found["direction"] == "tail"]["tail"]
        heads = found[found["direction"] == "head"]["head"]
        assert set(tails) <= set(sides.get("tails", names))
        assert set(heads) <= set(sides.get("heads", names))
        # as many as if all were found and most of them thrown away
        every = everything.rank(queries, 0)
        keep = pd.Series(True, every.index)
        for side, column in (("tails", "tail"), ("heads", "head")):
            of_side = every["direction"] == column
            keep &= ~of_side | every[column].isin(sides.get(side, names))
        counts = every[keep].groupby(["direction", "head", "relation"]).size()
        assert len(counts)
        for direction in ("tail", "head"):
            given = "head" if direction == "tail" else "tail"
            expected = every[keep & (every["direction"] == direction)].groupby(given).size()
            sizes = found[found["direction"] == direction].groupby(given).size()
            assert sizes.to_dict() == expected.clip(upper=3).to_dict()


def test_new_facts_keep_to_heads_and_tails(model: kgagg.Model) -> None:
    names = model.engine_.graph.entities.names()
    heads, tails = names[::2], names[::3]
    found = model.predict(["r0"], 0, heads=heads, tails=tails)
    assert len(found)
    assert set(found["head"]) <= set(heads)
    assert set(found["tail"]) <= set(tails)
    every = kgagg.Model("noisy-or", top_x=0).fit(model.engine_.graph, model.engine_.rules)
    wanted = every.predict(["r0"], 0)
    wanted = wanted[wanted["head"].isin(heads) & wanted["tail"].isin(tails)]
    pairs = set(zip(found["head"], found["tail"], strict=True))
    assert pairs <= set(zip(wanted["head"], wanted["tail"], strict=True))


def test_ranks_are_among_those_that_are_allowed(model: kgagg.Model) -> None:
    triple = tuple(model.predict(top=1).loc[0, ["head", "relation", "tail"]])
    free = model.score_triples([triple])
    alone = model.score_triples([triple], heads=[triple[0]], tails=[triple[2]])
    assert free["score"][0] == alone["score"][0]
    assert free["tail_rank"][0] >= alone["tail_rank"][0] == 1
    assert free["head_rank"][0] >= alone["head_rank"][0] == 1


def test_files_and_types_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = ["a\tis\tDisease", "b\tis\tDisease", "c\tis\tDrug", "d\tis\tDrug"]
    facts += [f"{x}\tr\t{y}" for x, y in ("ca", "cb", "da", "dc", "ab")]
    (tmp_path / "train.txt").write_text("\n".join(facts) + "\n")
    (tmp_path / "rules.txt").write_text(
        "10\t5\t0.5\ts(X,Y) <= r(X,Y)\n9\t4\t0.4\ts(X,Y) <= r(Y,X)\n"
    )
    (tmp_path / "valid.txt").write_text("c\ts\ta\n")
    call = ["predict", str(tmp_path), str(tmp_path / "rules.txt"), "-q", "--relations", "s"]
    call += ["--type-relation", "is"]

    def pairs(*options: str) -> set[str]:
        assert main([*call, *options]) == 0
        lines = capsys.readouterr().out.splitlines()[1:]
        return {line.split("\t")[0] + line.split("\t")[2] for line in lines}

    both = {"cb", "da", "dc", "ab", "ac", "bc", "ad", "cd", "ba"}
    assert pairs() == both
    diseases = pairs("--tails-of-type", "Disease")
    assert diseases == {pair for pair in both if pair[1] in "ab"}
    (tmp_path / "tails.txt").write_text("a\nb\n")
    assert pairs("--tails", str(tmp_path / "tails.txt")) == diseases
    drugs = pairs("--heads-of-type", "Drug", "--tails-of-type", "Disease,Drug")
    assert drugs == {pair for pair in both if pair[0] in "cd"}
    for options, message in (
        (["--tails-of-type", "Diseas"], "unknown type 'Diseas'; did you mean Disease"),
        (["--tails-of-type", "a"], "no entity has the type a by is"),
        (["--tails", str(tmp_path / "train.txt")], "train.txt:1: unknown entity"),
    ):
        assert main([*call, *options]) == 2
        assert message in capsys.readouterr().err
    assert main([*call[:-2], "--tails-of-type", "Disease"]) == 2
    assert "--tails-of-type: expected --type-relation NAME" in capsys.readouterr().err


def test_the_entities_of_missing_facts_are_allowed_ones(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "heads.txt").write_text("e1\ne2\ne3\n")
    call = ["rank", str(world), str(world / "rules.txt"), "-q", "--relation", "r0"]
    assert main([*call, "--heads", str(tmp_path / "heads.txt"), "--ask", "both"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows
    assert {row[0] for row in rows} <= {"e1", "e2", "e3"}
    assert np.unique([row[3] for row in rows]).tolist() == ["head", "tail"]
