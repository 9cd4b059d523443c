"""``kgagg rules``: rules as a table, compared, and with instances."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgagg
from kgagg.cli import main


def rules(world: Path, *options: str) -> int:
    return main(["rules", str(world / "rules.txt"), "-q", *options])


def listed(text: str) -> list[str]:
    """The texts of the rules that are listed."""
    return [line.split("  ")[-1] for line in text.splitlines() if " <= " in line]


def test_a_selection_is_listed_and_written(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = kgagg.RuleSet.read(world / "rules.txt")
    options = ["--relation", "r0", "--type", "cyclic", "--min-confidence", ".2"]
    options += ["--min-support", "10"]
    expected = every.filter(relation="r0", type="cyclic", min_confidence=0.2, min_support=10)
    assert 0 < len(expected) < len(every)
    texts = [expected.text(row) for row in range(len(expected))]
    assert rules(world, *options) == 0
    printed = capsys.readouterr().out
    assert f"{len(expected):,} selected" in printed
    assert listed(printed) == texts
    assert rules(world, *options, "--to", str(tmp_path / "some.txt")) == 0
    assert listed(capsys.readouterr().out) == []
    some = kgagg.RuleSet.read(tmp_path / "some.txt")
    assert sorted(some.text(row) for row in range(len(some))) == sorted(texts)


def test_the_first_by_an_order(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = kgagg.RuleSet.read(world / "rules.txt").to_pandas()
    for name, column, ascending in (
        ("confidence", "confidence", False),
        ("support", "correct", False),
        ("length", "length", True),
    ):
        assert rules(world, "--sort", name, "--top", "3") == 0
        expected = table.sort_values(column, ascending=ascending, kind="stable")["rule"]
        assert listed(capsys.readouterr().out) == expected.head(3).tolist()


def test_twenty_are_listed_and_the_rest_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (f"10\t5\t0.5\tr(X,e{i}) <= s(X,A)\n" for i in range(30))
    (tmp_path / "rules.txt").write_text("".join(lines))
    assert rules(tmp_path, "--relation", "r") == 0
    *_, last = (printed := capsys.readouterr().out).splitlines()
    assert len(listed(printed)) == 20
    assert last == "... 10 more (--top 0 lists all)"
    assert rules(tmp_path, "--top", "0") == 0
    assert len(listed(capsys.readouterr().out)) == 30


def test_redundant_rules_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "10\t9\t0.9\th(X,c) <= r(X,A)\n10\t5\t0.5\th(X,c) <= r(X,A), s(A,B)\n"
    (tmp_path / "rules.txt").write_text(text)
    assert rules(tmp_path, "--drop-redundant") == 0
    assert listed(capsys.readouterr().out) == ["h(X,c) <= r(X,A)"]


def test_a_comparison_with_another_file(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, record = tmp_path / "other.txt", tmp_path / "record.json"
    lines = (world / "rules.txt").read_text().splitlines()
    other.write_text("\n".join([*lines[2:], "30\t9\t0.3\tr1(X,Y) <= r2(X,A), r2(A,Y)"]) + "\n")
    call = ["--compare", str(other), "--json", str(record)]
    assert rules(world, *call) == 0
    assert f"| all      |         2 |          1 |    {len(lines) - 2} |" in capsys.readouterr().out
    assert "mrr" not in json.loads(record.read_text())
    assert rules(world, *call, "--data", str(world), "--semantics", "anyburl") == 0
    printed = capsys.readouterr().out
    found = json.loads(record.read_text())["mrr"]
    graph = kgagg.Graph.read(world)
    scores = [
        kgagg.evaluate(graph, path, ["noisy-or-top-5"])["mrr"].item()
        for path in (world / "rules.txt", other)
    ]
    assert found["difference"] == pytest.approx(scores[0] - scores[1])
    assert found["low"] <= found["difference"] <= found["high"]
    assert f"MRR here minus there: {found['difference']:+.4f}" in printed


def test_instances_of_rules(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rules(world, "--instances", "2", "--top", "1", "--data", str(world)) == 0
    *_, rule, one, other = capsys.readouterr().out.splitlines()
    graph = kgagg.Graph.read(world)
    table = kgagg.RuleSet.read(world / "rules.txt").to_pandas()
    assert rule.endswith(table["rule"][0])
    facts = {
        f"{graph.relations[r]}({graph.entities[h]}, {graph.entities[t]})"
        for h, r, t in graph.train.tolist()
    }
    for line in (one, other):
        known, _, rest = line.strip().partition(": ")
        fact, _, body = rest.partition(" since ")
        assert (fact in facts) == (known == "in train")
        assert all(atom in facts for atom in body.split(" and "))
    assert rules(world, "--instances", "2") == 2
    assert "expected --data DATA" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rules.csv", "rules.json.gz", "rules.nt"])
def test_endings_that_no_rules_have(
    world: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert rules(world, "--to", str(world / name)) == 2
    assert "expected .kgagg, .parquet, .txt, .rules, .tsv" in capsys.readouterr().err
    assert not (world / name).exists()
