"""What is refused in one line instead of being done in some other way."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgagg
from kgagg.cli import main
from kgagg.errors import InputError


@pytest.mark.parametrize("name", ["a.json", "a.xlsx", "a.nt.gz"])
@pytest.mark.parametrize("verb", ["rank", "predict", "score"])
def test_endings_of_other_formats(
    world: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    out = world / name
    assert main([verb, str(world), str(world / "rules.txt"), "--out", str(out), "-q"]) == 2
    assert "expected .tsv, .csv, .jsonl, .parquet, .txt" in capsys.readouterr().err
    assert not out.exists()


def test_numbers_that_are_too_small(world: Path) -> None:
    graph = kgagg.Graph.read(world)
    with pytest.raises(InputError, match="top_x=-5: expected at least 0"):
        kgagg.Model(top_x=-5)
    with pytest.raises(InputError, match="threads=0: expected at least 1"):
        kgagg.Model(threads=0)
    model = kgagg.Model("max").fit(graph, world / "rules.txt")
    with pytest.raises(InputError, match="top_k=-1: expected at least 0"):
        model.rank([("e1", "r0", None)], top_k=-1)
    with pytest.raises(InputError, match="top=-1: expected at least 0"):
        model.predict(top=-1)
    with pytest.raises(InputError, match="best=-1: expected at least 0"):
        kgagg.apply(graph, world / "rules.txt", best=-1)


def test_what_cannot_be_fetched_does_not_stop_the_rest(
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KGAGG_OFFLINE", "1")
    assert main(["fetch", "umls", "nations", "--to", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("kgagg: error: umls: no source has it")
    assert said[1].startswith("kgagg: error: nations: no source has it")
    assert said[2:] == ["kgagg: error: not fetched: umls, nations"]


def test_leaks_are_reported_or_refused(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "train.txt").write_text("e0\tr0\te1\ne1\tr1\te2\ne2\tr2\te0\n")
    (world / "valid.txt").write_text("e0\tr0\te1\ne0\tr1\te2\n")
    (world / "test.txt").write_text("e1\tr1\te2\ne0\tr1\te2\ne2\tr2\te1\n")
    call = ["evaluate", str(world), str(world / "rules.txt"), "--strategies", "max", "-q"]
    assert main(call) == 0
    leaks = "1 triples of valid are in train, 1 triples of test are in train, "
    leaks += "1 triples of test are in valid"
    assert leaks in capsys.readouterr().err
    assert main([*call, "--no-leak"]) == 2
    assert capsys.readouterr().err == f"kgagg: error: {world}: {leaks}\n"
    out = world / "mined.txt"
    mine = ["mine", "native", str(world), "--out", str(out), "-q", "--max-length-cyclic", "1"]
    assert main([*mine, "--no-leak"]) == 2
    assert capsys.readouterr().err == f"kgagg: error: {world}: {leaks}\n"
    main(mine)
    assert f"kgagg: warning: {world}: {leaks} (--no-leak refuses)\n" in capsys.readouterr().err


def test_scores_are_for_learned_alone(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, out = world / "scores.tsv", world / "fitted.kgagg"
    scores.write_text("e0\tr0\te1\thigh\n")
    call = ["fit", str(world), str(world / "rules.txt"), "--scores", str(scores), "--out", str(out)]
    assert main([*call, "--strategy", "factors", "-q"]) == 2
    assert "factors does not use scores, expected learned" in capsys.readouterr().err
    assert main([*call, "--strategy", "learned", "-q"]) == 2
    assert f"{scores}:1: expected head, relation, tail and a finite" in capsys.readouterr().err
    assert not out.exists()


def test_scores_have_a_row_of_their_own(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = world / "scores.tsv"
    scores.write_text("e0\tr0\te1\t0.5\n")
    call = ["evaluate", str(world), str(world / "rules.txt"), "--strategies", "max", "-q"]
    assert main([*call, "--scores", str(scores)]) == 0
    rows = [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert rows[2:] == ["max", "learned+scores"]
