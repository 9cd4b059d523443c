"""Names on terminals: what a terminal would obey, or cannot show, is escaped."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kgagg.util.terminal import one_line

KGAGG = Path(sys.executable).with_name("kgagg")
NAME = "e\x1b[2Jü\N{SNOWMAN}\x9b"


@pytest.fixture
def hostile(tmp_path: Path) -> list[str]:
    """Arguments of a call that prints a name with control characters and a snowman."""
    (tmp_path / "train.txt").write_text(f"{NAME}\tr\tb\nc\ts\tb\n", encoding="utf-8")
    (tmp_path / "test.txt").write_text("c\tr\tb\n")
    (tmp_path / "rules.txt").write_text("20\t10\t0.5\ts(X,Y) <= r(X,Y)\n")
    (tmp_path / "queries.txt").write_text("?\ts\tb\n")
    rank = ["rank", "--queries", str(tmp_path / "queries.txt"), "-q"]
    return [*rank, str(tmp_path), str(tmp_path / "rules.txt")]


def test_a_terminal_obeys_no_name(hostile: list[str], tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    wrong = ["explain", *hostile[-2:], NAME + "x", "r", "b"]
    for call in (hostile, wrong):
        subprocess.run([KGAGG, *call], stdout=theirs, stderr=theirs, check=False)
        shown = os.read(ours, 1 << 16).decode()
        assert "\\x1b[2Jü\N{SNOWMAN}\\x9b" in shown
        assert "\x1b[2J" not in shown
        assert "\x9b" not in shown
    os.close(ours)
    os.close(theirs)


def test_programs_get_names_as_they_are(hostile: list[str]) -> None:
    done = subprocess.run([KGAGG, *hostile], capture_output=True, check=True)
    assert NAME in done.stdout.decode()


def test_what_an_encoding_lacks_is_escaped(hostile: list[str]) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([KGAGG, *hostile], capture_output=True, env=ascii_only, check=True)
    assert b"\\xfc\\u2603" in done.stdout
    assert not done.stderr


def test_messages_are_one_line_of_bounded_length() -> None:
    assert one_line("a\nb\x1b\tc") == "a\\nb\\x1b\tc"
    long = one_line("x" * 10_000_000 + ": no such entity")
    assert len(long) < 2100
    assert long.endswith(": no such entity")
