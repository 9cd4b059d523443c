"""A line that names the columns is a header, not a triple."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgagg.cli import main
from kgagg.graph.graph import Graph


@pytest.mark.parametrize("header", ["head\trelation\ttail", "Subject\tPredicate\tObject\r"])
def test_a_header_is_left_out_and_reported(
    tmp_path: Path, header: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.txt").write_text(f"{header}\na\tr\tb\n", newline="")
    with pytest.warns(UserWarning, match=r"train.txt:1: a header, not a triple"):
        graph = Graph.read(tmp_path)
    assert graph.entities.names() == ["a", "b"]
    assert len(graph.train) == 1
    assert main(["stats", str(tmp_path)]) == 0
    assert "kgagg: warning: " in capsys.readouterr().err


@pytest.mark.parametrize("line", ["head\trelation\tb", "h\tr\tt"])
def test_other_lines_are_triples(tmp_path: Path, line: str) -> None:
    (tmp_path / "train.txt").write_text(f"{line}\na\tr\tb\n")
    assert len(Graph.read(tmp_path).train) == 2


def test_a_later_line_is_a_triple(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tr\tb\nhead\trelation\ttail\n")
    assert len(Graph.read(tmp_path).train) == 2
