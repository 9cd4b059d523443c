"""Tables as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """Write a table in Markdown, columns aligned; whole numbers to the right, in groups of three.

    Parameters
    ----------
    header : sequence of str
        The titles of the columns.
    rows : iterable of sequences
        The cells.

    Returns
    -------
    str
        The table, ended by a line end.
    """
    rows = list(rows)
    table = [list(header), *([_cell(value) for value in row] for row in rows)]
    columns = range(len(header))
    numeric = [all(isinstance(row[i], int) for row in rows) for i in columns]
    width = [max(3, *(len(row[i]) for row in table)) for i in columns]
    rule = ["-" * (width[i] - 1) + (":" if numeric[i] else "-") for i in columns]
    lines = []
    for row in [table[0], rule, *table[1:]]:
        cells = (row[i].rjust(width[i]) if numeric[i] else row[i].ljust(width[i]) for i in columns)
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def _cell(value: str | int) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else value
