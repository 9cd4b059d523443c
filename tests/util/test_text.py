"""Tables for people: cells stay in their columns, whatever is in them."""

from __future__ import annotations

from kgagg.util.text import markdown


def test_bars_and_line_ends_stay_in_their_cell() -> None:
    table = markdown(["a|b", "n"], [["x|y\nz", 1]])
    assert table.splitlines() == [r"| a\|b   |   n |", "| ------ | --: |", r"| x\|y z |   1 |"]
