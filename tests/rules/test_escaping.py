"""Names that look like variables, and rules as AMIE writes them with -datalog."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.mining.native.miner import mine
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.writing import write

NAMES = [*"ABCDXYZ", "\\A", "\\\\B", "AB", "x", "\\long"]


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A graph whose entities are called as variables are."""
    generator = np.random.default_rng(1)
    for split, size in (("train", 300), ("valid", 20), ("test", 20)):
        rows = generator.integers(0, (len(NAMES), 3, len(NAMES)), (size, 3))
        text = "".join(f"{NAMES[h]}\t{'rst'[r]}\t{NAMES[t]}\n" for h, r, t in rows)
        (tmp_path / f"{split}.txt").write_text(text)
    return tmp_path


def test_mined_rules_are_read_back_as_they_were(letters: Path) -> None:
    graph = Graph.read(letters)
    for name in ("rules.txt", "rules.kgagg", "rules.parquet"):
        mine(str(letters), letters / name)
    names = (graph.entities, graph.relations)
    digests = {
        RuleSet.read(letters / name, known).digest
        for name in ("rules.txt", "rules.kgagg", "rules.parquet")
        for known in (names, None)
    }
    assert len(digests) == 1
    rules = RuleSet.read(letters / "rules.txt", names)
    assert rules.counts()["constant"] > 1000
    assert not rules.report.unusable


def test_text_is_written_again_byte_by_byte(letters: Path) -> None:
    mine(str(letters), letters / "rules.txt")
    write(RuleSet.read(letters / "rules.txt"), letters / "again.txt")
    assert (letters / "again.txt").read_bytes() == (letters / "rules.txt").read_bytes()


@pytest.mark.parametrize("dialect", ["anyburl", "pyclause"])
def test_dialects_that_would_misread_a_name_refuse_it(letters: Path, dialect: str) -> None:
    mine(str(letters), letters / "rules.txt")
    with pytest.raises(InputError, match="is read as a variable"):
        write(RuleSet.read(letters / "rules.txt"), letters / "out.txt", dialect)
    assert not (letters / "out.txt").exists()


def test_a_backslash_of_someone_else_stays(tmp_path: Path) -> None:
    """A file of AnyBURL with an entity that is really called backslash A."""
    (tmp_path / "train.txt").write_text("\\A\tr\tb\nb\tr\t\\A\n")
    (tmp_path / "rules.txt").write_text("5\t4\t0.8\tr(X,\\A) <= r(X,b)\n")
    graph = Graph.read(tmp_path)
    rules = RuleSet.read(tmp_path / "rules.txt", (graph.entities, graph.relations))
    assert graph.entities[rules.head_constant[0]] == "\\A"


DATALOG = """\
Starting the mining phase... 0.1s
Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size
hasneighbor(?b,?a)  => hasneighbor(?a,?b)\t0.99\t0.5\t0.5\t50\t100\t100
r(?a,?f), s(?f,?b)  => t(?a,?b)\t0.1\t0.25\t0.5\t20\t80\t40
r(?a,New York, NY)  => t(?a,x (y))\t0.1\t0.5\t0.5\t20\t40\t40
"""


def test_datalog_output_of_amie_is_read(tmp_path: Path) -> None:
    (tmp_path / "amie.txt").write_text(DATALOG)
    rules = RuleSet.read(tmp_path / "amie.txt")
    texts = {rules.text(row): int(rules.correct[row]) for row in range(len(rules))}
    assert texts == {
        "hasneighbor(X,Y) <= hasneighbor(Y,X)": 50,
        "t(X,Y) <= r(X,A), s(A,Y)": 20,
        "t(X,x (y)) <= r(X,New York, NY)": 20,
    }


def test_the_command_line_reads_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "amie.txt").write_text(DATALOG)
    assert main(["rules", str(tmp_path / "amie.txt")]) == 0
    assert capsys.readouterr().out.startswith("3 rules")
