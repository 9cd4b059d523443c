"""Triples in the formats that people have: each becomes lines of head, tab, relation, tab, tail.

Lines of this form pass through as they are, without being looked at.
"""

from __future__ import annotations

import csv
import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kgagg.data.columns import positions, report_columns, titled
from kgagg.errors import InputError
from kgagg.util.files import COMPRESSIONS, line_blocks

# how the names of files end, before the ending of a compression
TEXT, CSV, RDF, PARQUET = (".txt", ".tsv"), (".csv",), (".nt", ".nq", ".ttl"), (".parquet", ".pq")
ENDINGS = (*TEXT, *CSV, *RDF, *PARQUET)
_DELIMITERS = (",", ";", "\t", "|")


class Lines(NamedTuple):
    """Triples as text.

    Attributes
    ----------
    where : str
        How messages name the source.
    first : int
        The number of the first line.
    blocks : iterator of bytes
        Whole lines of head, relation and tail, separated by tabs.
    """

    where: str
    first: int
    blocks: Iterator[bytes]


def ending(path: Path) -> str:
    """Return how the name of a file ends, without the ending of a compression."""
    name = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return name.suffix.lower()


def split_file(folder: Path, split: str) -> Path | None:
    """Return the file of a split in any format, plain or compressed, None if there is none."""
    names = (f"{split}{end}{packed}" for end in ENDINGS for packed in ("", *COMPRESSIONS))
    found = [path for name in names if (path := folder / name).exists()]
    if len(found) > 1:
        raise InputError(f"{folder}: has both {found[0].name} and {found[1].name}, expected one")
    return found[0] if found else None


def open_triples(path: str | os.PathLike[str], literals: str = "drop") -> Lines:
    """Open a file of triples; its ending says what it is, and text is what it looks like.

    Parameters
    ----------
    path : path
        TSV, CSV, N-Triples, N-Quads, Turtle or Parquet, plain or compressed. A first line that
        names the columns (head, subject, source, ...) says which of them to take.
    literals : str
        ``"drop"``: triples of RDF whose object is a literal are left out, and counted; or
        ``"keep"``: literals are entities, named as N-Triples writes them.

    Raises
    ------
    InputError
        If the file cannot be read, or does not have three columns.
    """
    if literals not in ("drop", "keep"):
        raise InputError(f"literals={literals!r}: expected drop or keep")
    path = Path(path)
    kind = ending(path)
    if kind in RDF:
        from kgagg.data.rdf import rdf_blocks

        return Lines(str(path), 1, rdf_blocks(path, kind, keep=literals == "keep"))
    if kind in PARQUET:
        from kgagg.data.tables import parquet_blocks

        return Lines(str(path), 1, parquet_blocks(path))
    return _open_text(path, kind)


def _open_text(path: Path, kind: str) -> Lines:
    """Open lines of columns: by tabs if there are any, else by what CSV may have between them."""
    blocks = line_blocks(path)
    start = next(blocks, b"")
    line = start.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    delimiter = "\t" if kind in TEXT or (kind not in CSV and "\t" in line) else _sniffed(line)
    cells = line.split("\t") if delimiter == "\t" else _cells(line, delimiter)
    chosen = positions(cells)
    if chosen is None and _alone(cells, start, delimiter):
        if titled(cells):
            chosen = (0, 1, 2)
        else:
            warnings.warn(
                f"{path}:1: {', '.join(cells[:3])}: shares no name with the lines below; a header?",
                stacklevel=3,
            )
    if not start or (delimiter == "\t" and len(cells) <= 3 and chosen in (None, (0, 1, 2))):
        if chosen:
            warnings.warn(f"{path}:1: a header, not a triple: {line}", stacklevel=3)
            start = start[start.index(b"\n") + 1 :]
        return Lines(str(path), 1 + bool(chosen), itertools.chain([start], blocks))
    if len(cells) < 3:
        raise InputError(
            f"{path}:1: expected three columns, head, relation and tail, but found {line!r}"
        )
    if chosen:
        report_columns(str(path), cells, chosen)
    elif len(cells) > 3:
        report_columns(str(path), [f"column {i + 1}" for i in range(len(cells))], (0, 1, 2))
    from kgagg.data.tables import text_blocks

    columns = chosen or (0, 1, 2)
    parts = text_blocks(path, delimiter, len(cells), columns, header=chosen is not None)
    return Lines(str(path), 1, parts)


def _alone(cells: list[str], start: bytes, delimiter: str) -> bool:
    """Return whether no name of the first line is in those that follow, as far as they are read."""
    _, _, rest = start.replace(b"\r\n", b"\n").partition(b"\n")
    if len(cells) < 3 or rest.count(b"\n") < 3:
        return False
    between = delimiter.encode()
    head, relation, tail = (cell.encode() for cell in cells[:3])
    text = b"\n" + rest.replace(b'"', b"")
    # what ends a third column depends on whether there is a fourth
    end = between if len(cells) > 3 else b"\n"
    return not any(
        before + name + after in text
        for name, before, after in (
            (relation, between, between),
            *((one, b"\n", between) for one in (head, tail)),
            *((one, between, end) for one in (head, tail)),
        )
    )


def _sniffed(line: str) -> str:
    """Return the delimiter that gives a line the most columns."""
    return max(_DELIMITERS, key=lambda one: len(_cells(line, one)))


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])
