"""A line that names the columns is a header, not a triple."""

from __future__ import annotations

import warnings
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("between", ["\t", ","])
@pytest.mark.parametrize("more", ["", "1999"])
def test_a_title_in_the_middle_is_enough(tmp_path: Path, between: str, more: str) -> None:
    file = tmp_path / ("facts.csv" if between == "," else "facts.tsv")
    facts = [("anna", "knows", "bob"), ("bob", "knows", "carl"), ("carl", "likes", "anna")]
    rows = [("person", "relation", "other"), *facts]
    file.write_text("".join(between.join([*row, *filter(None, [more])]) + "\n" for row in rows))
    graph = Graph.read(file)
    assert sorted(graph.to_pandas().itertuples(index=False, name=None)) == sorted(facts)
    # not if it is the name of a relation
    rows.append(("anna", "relation", "carl"))
    file.write_text("".join(between.join(row) + "\n" for row in rows))
    assert len(Graph.read(file).train) == 5


def test_a_first_line_that_shares_no_name_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    lines = ["who,does,whom", "anna,knows,bob", 'bob,knows,"carl"', "carl,likes,anna"]
    file.write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="who, does, whom: shares no name with the lines below"):
        assert len(Graph.read(file).train) == 4
    for first in ("who,knows,whom", "who,does,bob", "carl,does,whom"):
        file.write_text("\n".join([first, *lines[1:]]) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(Graph.read(file).train) == 4
