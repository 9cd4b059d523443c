"""Each verb ends with one line, and refuses before the work what it cannot write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgagg.cli import main

CALLS = {
    "evaluate": (["--strategies", "max"], r"1 strategies on [\d,]+ triples of test \(.+ s\)"),
    "rank": ([], r"answers to [\d,]+ lines of queries \(.+ s\)"),
    "score": ([], r"scores of [\d,]+ triples \(.+ s\)"),
    "predict": (["--top", "3", "--out", "{}/new.csv"], r"3 new facts in .*/new.csv \(.+ s\)"),
    "materialise": ([], r"[\d,]+ new facts by [\d,]+ rules \(.+ s\)"),
    "fit": (
        ["--strategy", "noisy-or-top-h*", "--out", "{}/h.kgagg"],
        r"noisy-or-top-h\*, fitted on [\d,]+ triples in .*/h.kgagg \(.+ s\)",
    ),
}


@pytest.mark.parametrize("verb", CALLS)
def test_the_last_line_says_how_many_where_and_how_long(
    world: Path, tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, line = CALLS[verb]
    call = [verb, str(world), str(world / "rules.txt"), *(w.format(tmp_path) for w in words)]
    assert main(call) == 0
    told = capsys.readouterr()
    assert re.fullmatch(line, told.err.splitlines()[-1])
    assert main([*call, "-q"]) == 0
    assert told.err.splitlines()[-1] not in capsys.readouterr().err


def test_what_cannot_be_written_is_refused_before_the_work(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    missing = str(tmp_path / "no-such-rules")
    for option in ("--out", "--json", "--plot"):
        place = f"{tmp_path}/file/new.svg"
        # the rules are not even looked for
        assert main(["predict", str(world), missing, option, place]) == 2
        assert "file is a file, expected a folder" in capsys.readouterr().err
