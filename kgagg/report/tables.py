"""Tables, and the forms they are written in: Markdown, LaTeX, CSV, HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgagg.util.files import writing
from kgagg.util.text import DASH, MINUS, Value, align, cell_text

FORMS = ("md", "tex", "csv", "html")


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Attributes
    ----------
    caption : str
    columns : sequence of (str, str)
        The title of each column, and how Python is to format its numbers, such as ``".3f"``;
        empty for text.
    rows : sequence of sequences
        The cells; None where there is nothing.
    """

    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Value]]

    def texts(self) -> list[list[str]]:
        """Return the cells as people read them."""
        formats = [how for _, how in self.columns]
        return [
            [cell_text(cell, how) for cell, how in zip(row, formats, strict=True)]
            for row in self.rows
        ]

    def write(self, folder: Path, name: str) -> None:
        """Write the table in every form: ``name.md``, ``name.tex``, ``name.csv``, ``name.html``."""
        for form in FORMS:
            with writing(folder / f"{name}.{form}") as file:
                file.write(_WRITERS[form](self))


def to_markdown(table: Table) -> str:
    """Write a table in Markdown, its caption above it."""
    header = [name for name, _ in table.columns]
    numeric = [bool(how) for _, how in table.columns]
    return f"{table.caption}\n\n{align(header, table.texts(), numeric)}"


def to_csv(table: Table) -> str:
    """Write a table as CSV, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in table.columns])
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return text.getvalue()


def to_latex(table: Table) -> str:
    r"""Write a table as a LaTeX ``table`` that needs no package."""
    align = "".join("r" if how else "l" for _, how in table.columns)
    lines = [
        "\\begin{table}\n\\centering\\scriptsize\n",
        f"\\caption{{{_latex(table.caption)}}}\n",
        f"\\begin{{tabular}}{{{align}}}\n\\hline\n",
        " & ".join(_latex(name) for name, _ in table.columns) + " \\\\\n\\hline\n",
        *(" & ".join(map(_latex, row)) + " \\\\\n" for row in table.texts()),
        "\\hline\n\\end{tabular}\n\\end{table}\n",
    ]
    return "".join(lines)


def to_html(table: Table) -> str:
    """Write a table in HTML; numbers have their value in ``data-value``, to sort by."""
    header = "".join(
        f'<th class="{"number" if how else "text"}">{html.escape(name)}</th>'
        for name, how in table.columns
    )
    body = []
    for row, texts in zip(table.rows, table.texts(), strict=True):
        body.append("<tr>")
        for cell, text in zip(row, texts, strict=True):
            value = f' data-value="{cell}"' if isinstance(cell, int | float) else ""
            body.append(f"<td{value}>{html.escape(text)}</td>")
        body.append("</tr>\n")
    caption = html.escape(table.caption)
    return (
        f"<table>\n<caption>{caption}</caption>\n<thead><tr>{header}</tr></thead>\n"
        f"<tbody>\n{''.join(body)}</tbody>\n</table>\n"
    )


_WRITERS = {"md": to_markdown, "tex": to_latex, "csv": to_csv, "html": to_html}
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    MINUS: "$-$",
    DASH: "--",
    "±": "$\\pm$",
    "≤": "$\\le$",
    "≥": "$\\ge$",
}


def _latex(text: str) -> str:
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text)
