"""Numbers and tables for people, as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Value = str | int | float | None
# typography: a dash for nothing and for ranges, a minus that is as wide as a plus
DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def number(value: float, how: str = "g") -> str:
    """Format a number for people: with thousands apart, which are never an exponent."""
    if how.endswith("g") and abs(value) >= 1000:
        how = f"{'+' if how.startswith('+') else ''},.0f"
    return format(value, how).replace(",", " ")


def cell_text(cell: Value, how: str) -> str:
    """Format a cell of a table: a dash for nothing, text as it is, numbers by `how`."""
    if cell is None:
        return DASH
    return cell if isinstance(cell, str) else number(cell, how).replace("-", MINUS)


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
    numeric = [all(isinstance(row[i], int) for row in rows) for i in range(len(header))]
    return align(header, [[cell_text(cell, ",") for cell in row] for row in rows], numeric)


def align(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Write cells as a table in Markdown, columns aligned; `numeric` ones to the right."""
    columns = range(len(header))
    # a bar in a name is not the end of its cell, nor a line end that of its row
    header, *rows = (
        [" ".join(cell.splitlines()).replace("|", r"\|") for cell in row] for row in (header, *rows)
    )
    table = [header, *rows]
    width = [max(3, *(len(row[i]) for row in table)) for i in columns]
    rule = ["-" * (width[i] - 1) + (":" if numeric[i] else "-") for i in columns]
    lines = []
    for row in [header, rule, *rows]:
        cells = (row[i].rjust(width[i]) if numeric[i] else row[i].ljust(width[i]) for i in columns)
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)
