"""Labels: names to show beside the identifiers of entities and relations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from kgagg.data.triples import CSV, PARQUET, RDF, ending
from kgagg.errors import InputError
from kgagg.util.files import blocks, line_blocks

# the predicates of RDF whose objects are labels
PREDICATES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
)
_HEADERS = ("label", "name", "title")


def read_labels(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the labels of entities and relations; the ending says how they are written.

    Parameters
    ----------
    path : path
        Lines of name, tab and label; CSV, of which a first line with ``label`` or ``name`` in the
        second column is a header; JSON, an object of labels by name; or N-Triples, N-Quads or
        Turtle with rdfs:label and the like, English ones first. Plain or compressed.

    Raises
    ------
    InputError
        If the file is not as expected, or has no label.
    """
    path = Path(path)
    kind = ending(path)
    if kind in PARQUET:
        raise InputError(f"{path}: labels are read from TSV, CSV, JSON and RDF")
    if kind == ".json":
        labels = _json(path)
    elif kind in RDF:
        labels = _rdf(path, kind)
    else:
        labels = dict(_csv(path) if kind in CSV else _lines(path))
    if not labels:
        raise InputError(f"{path}: has no label")
    return labels


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
    for number, line in enumerate(lines, start=1):
        name, tab, label = line.decode(errors="replace").rstrip("\r").partition("\t")
        if not tab:
            raise InputError(f"{path}:{number}: expected a name, a tab and its label")
        yield name, label.partition("\t")[0]


def _csv(path: Path) -> Iterator[tuple[str, str]]:
    import csv
    import io

    text = b"".join(line_blocks(path)).decode(errors="replace")
    start = text.partition("\n")[0]
    delimiter = max(",;|\t", key=start.count)
    for number, cells in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter), start=1):
        if len(cells) < 2:
            raise InputError(f"{path}:{number}: expected a name and its label")
        if number > 1 or cells[1].strip().lower() not in _HEADERS:
            yield cells[0], cells[1]


def _json(path: Path) -> dict[str, str]:
    try:
        found = json.loads(b"".join(blocks(path)))
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected an object of labels by name")
    labels = {}
    for name, value in found.items():
        # CoDEx has objects with a label
        label = value.get("label") if isinstance(value, dict) else value
        if not isinstance(label, str):
            raise InputError(f"{path}: {name}: expected its label, a text")
        labels[name] = label
    return labels


def _rdf(path: Path, kind: str) -> dict[str, str]:
    from kgagg.data.rdf import literal_text, statements

    best: dict[str, tuple[int, str]] = {}
    for subject, predicate, literal in statements(path, kind):
        if predicate in PREDICATES and literal.startswith('"'):
            language = literal.rpartition('"')[2]
            # English, then without a language, then any
            order = 0 if language.startswith("@en") else 1 + language.startswith("@")
            if subject not in best or order < best[subject][0]:
                best[subject] = order, literal_text(literal)
    return {subject: label for subject, (_, label) in best.items()}
