"""Tables, and the forms they are written in: Markdown, LaTeX, CSV, HTML."""

from __future__ import annotations

import csv
import html
import io
import itertools
import re
from collections.abc import Callable, Collection, Sequence
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
    groups : sequence of str
        A heading for each column, shared by neighbours that have the same; none for no headings.
    best : collection of (int, int)
        Rows and columns of the cells to print in bold.
    """

    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Value]]
    groups: Sequence[str] = ()
    best: Collection[tuple[int, int]] = ()

    def compact(self) -> Table:
        """Leave out columns without a cell, and those that are the same in each of several rows.

        The caption then says what the latter were. Numbers with a fraction always stay.
        """
        kept, said = [], []
        for i, (name, how) in enumerate(self.columns):
            cells = {row[i] for row in self.rows}
            if cells == {None}:
                continue
            if len(self.rows) > 1 and len(cells) == 1 and how in ("", "d"):
                said.append(f"{name}: {cell_text(cells.pop(), how)}")
            else:
                kept.append(i)
        told = "; ".join(said)
        return Table(
            f"{self.caption} {told[0].upper()}{told[1:]}." if told else self.caption,
            [self.columns[i] for i in kept],
            [[row[i] for i in kept] for row in self.rows],
            [self.groups[i] for i in kept] if self.groups else (),
            {(row, kept.index(column)) for row, column in self.best if column in kept},
        )

    def names(self) -> list[str]:
        """Return the titles of the columns in full, with their headings."""
        groups = self.groups or [""] * len(self.columns)
        return [
            f"{group} {name}".strip() for group, (name, _) in zip(groups, self.columns, strict=True)
        ]

    def spans(self) -> list[tuple[str, int]]:
        """Return the headings, and how many columns each is for."""
        return [(name, len(list(some))) for name, some in itertools.groupby(self.groups)]

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
    numeric = [bool(how) for _, how in table.columns]
    rows = _marked(table, table.texts(), "**{}**".format)
    return f"{table.caption}\n\n{align(table.names(), rows, numeric)}"


def to_csv(table: Table) -> str:
    """Write a table as CSV, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.names())
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return text.getvalue()


def to_latex(table: Table) -> str:
    r"""Write a table as a LaTeX ``table`` that needs no package."""
    align = "".join("r" if how else "l" for _, how in table.columns)
    rows = [[_latex(cell) for cell in row] for row in table.texts()]
    above = " & ".join(f"\\multicolumn{{{n}}}{{c}}{{{_latex(name)}}}" for name, n in table.spans())
    lines = [
        "\\begin{table}\n\\centering\\scriptsize\n",
        f"\\caption{{{_latex(table.caption)}}}\n",
        f"\\begin{{tabular}}{{{align}}}\n\\hline\n",
        f"{above} \\\\\n" if above else "",
        " & ".join(_latex(name) for name, _ in table.columns) + " \\\\\n\\hline\n",
        *(" & ".join(row) + " \\\\\n" for row in _marked(table, rows, "\\textbf{{{}}}".format)),
        "\\hline\n\\end{tabular}\n\\end{table}\n",
    ]
    return "".join(lines)


def to_html(table: Table) -> str:
    """Write a table in HTML; numbers have their value in ``data-value``, to sort by."""
    header = "".join(
        f'<th class="{"number" if how else "text"}">{html.escape(name)}</th>'
        for name, how in table.columns
    )
    above = "".join(
        f'<th class="group" colspan="{n}">{html.escape(name)}</th>' for name, n in table.spans()
    )
    texts = [[html.escape(text) for text in row] for row in table.texts()]
    body = []
    for row, shown in zip(table.rows, _marked(table, texts, "<b>{}</b>".format), strict=True):
        body.append("<tr>")
        for cell, text, (_, how) in zip(row, shown, table.columns, strict=True):
            value = f' data-value="{cell}"' if isinstance(cell, int | float) else ""
            side = ' class="number"' if how else ""
            body.append(f"<td{side}{value}>{text}</td>")
        body.append("</tr>\n")
    caption = html.escape(table.caption)
    head = (f"<tr>{above}</tr>" if above else "") + f"<tr>{header}</tr>"
    return (
        f"<table>\n<caption>{caption}</caption>\n<thead>{head}</thead>\n"
        f"<tbody>\n{''.join(body)}</tbody>\n</table>\n"
    )


def _marked(
    table: Table, texts: Sequence[Sequence[str]], mark: Callable[[str], str]
) -> list[list[str]]:
    """Mark the best cells."""
    return [
        [mark(text) if (i, j) in table.best else text for j, text in enumerate(row)]
        for i, row in enumerate(texts)
    ]


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
