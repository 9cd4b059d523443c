"""Small pieces of HTML, as notebooks show them: no scripts, no styles of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], note: str = "", numeric: int = 0
) -> str:
    """Write a table.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    note : str
        A line below the table.
    numeric : int
        How many columns, the first ones, are numbers.
    """

    def row(tag: str, cells: Sequence[str]) -> str:
        sides = ("right" if i < numeric else "left" for i in range(len(cells)))
        parts = (
            f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead>{row('th', header)}</thead><tbody>{body}</tbody></table>{below}"
