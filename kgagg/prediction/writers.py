"""Write tables and answers to files, or print them."""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.engine.queries import MISSING
from kgagg.errors import InputError, nearest
from kgagg.graph.graph import Graph
from kgagg.prediction.answers import ASKED, COLUMNS, Answers, batches
from kgagg.util.files import COMPRESSIONS, printing_or_writing
from kgagg.util.parquet import parquet_writer

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMS = ("tsv", "csv", "jsonl", "parquet")

Place = str | os.PathLike[str] | None


def form_of(path: Place, otherwise: str, name: str | None = None) -> str:
    """Return the format of a file: the one that is named, or by the ending, compressed or not.

    Parameters
    ----------
    path : path or None
        None if it is printed.
    otherwise : str
        The format of files that end in .txt, or in nothing, and of what is printed.
    name : str, optional
        The format, whatever the ending.

    Raises
    ------
    InputError
        If there is no such format, or it cannot be printed.
    """
    if name is None:
        path = Path(path or "")
        plain = path.stem if path.suffix in COMPRESSIONS else path.name
        ending = Path(plain).suffix.removeprefix(".")
        if ending in ("", "txt"):
            return otherwise
        if ending not in FORMS:
            known = ", ".join(f".{form}" for form in (*FORMS, "txt"))
            raise InputError(f"{path}: no format ends in .{ending}, expected {known} (or --format)")
        return ending
    forms = dict.fromkeys((*FORMS, otherwise))
    if name not in forms:
        known = f"expected one of {', '.join(forms)}{nearest(name, forms)}"
        raise InputError(f"{name}: no such format, {known}")
    if name == "parquet" and path is None:
        raise InputError("format parquet is for files: expected --out FILE")
    return name


@contextlib.contextmanager
def table_writer(path: Place, form: str) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that writes one table after the other; the file appears when all are written.

    Parameters
    ----------
    path : path or None
        None to print.
    form : str
        One of `FORMS`: ``"tsv"`` and ``"csv"`` with a header, ``"jsonl"`` with an object for each
        row. What is not known is empty, or null.
    """
    if form == "parquet" and path is not None:
        with contextlib.ExitStack() as stack:
            files: list[Any] = []

            def write_parquet(table: pd.DataFrame) -> None:
                part = _arrow(table)
                if not files:
                    writer = parquet_writer(path, part.schema, compression="zstd")
                    files.append(stack.enter_context(writer))
                files[0].write_table(part.cast(files[0].schema))

            yield write_parquet
        return
    with printing_or_writing(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        begun: list[bool] = []

        def write(table: pd.DataFrame) -> None:
            names = list(map(str, table))
            if form != "jsonl" and not begun:
                file.write("\t".join(names) + "\n") if form == "tsv" else rows.writerow(names)
            begun.append(True)
            for cells in _cells(table, form):
                match form:
                    case "jsonl":
                        content = dict(zip(names, cells, strict=True))
                        file.write(json.dumps(content, ensure_ascii=False) + "\n")
                    case "csv":
                        rows.writerow(cells)
                    case _:
                        words = ("" if cell is None else str(cell) for cell in cells)
                        file.write("\t".join(words) + "\n")

        yield write


def write_table(path: Place, table: pd.DataFrame, form: str) -> None:
    """Write one table (see `table_writer`)."""
    with table_writer(path, form) as write:
        write(table)


def _cells(table: pd.DataFrame, form: str) -> Iterator[tuple[Any, ...]]:
    """Return the rows, with None for what is not known; truth is 0 or 1 but in JSON."""
    columns = []
    for name in table:
        column = table[name]
        if column.dtype == bool and form != "jsonl":
            column = column.astype(np.int8)
        cells = column.tolist()
        if column.hasnans:
            cells = [None if cell != cell else cell for cell in cells]
        columns.append(cells)
    return zip(*columns, strict=True)


def _arrow(table: pd.DataFrame) -> pa.Table:
    """Return a table of Arrow, in which columns of names are text even if they are empty."""
    import pyarrow as pa

    found = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
    for i, field in enumerate(found.schema):
        if pa.types.is_null(field.type):
            found = found.set_column(i, field.name, found.column(i).cast(pa.string()))
    return found


# --- answers -----------------------------------------------------------------------------------


def write_answers(path: Place, answers: Iterable[Answers], graph: Graph, form: str) -> None:
    """Write answers one after the other; the file appears when all of them are written.

    Parameters
    ----------
    path : path or None
        None to print.
    answers : iterable of Answers
    graph : Graph
        Has the names.
    form : str
        ``"tsv"``, ``"csv"`` or ``"parquet"``: a row for each answer (see `answer_tables`);
        ``"jsonl"``: an object for each query.
    """
    if form == "jsonl":
        entities, relations = graph.entities.names(), graph.relations.names()
        with printing_or_writing(path) as file:
            for one in answers:
                json.dump(_object(one, entities, relations, graph), file, ensure_ascii=False)
                file.write("\n")
        return
    with table_writer(path, form) as write:
        for table in answer_tables(answers, graph):
            write(table)


def answer_tables(answers: Iterable[Answers], graph: Graph) -> Iterator[pd.DataFrame]:
    """Yield tables of many answers by name, at least one, in which each answer has a row.

    Columns are ``head``, ``relation``, ``tail``, ``direction`` (what was missing), ``rank`` from 1,
    ``score`` and ``known``; and labels, if the graph has any (see `Graph.labelled`).
    """
    import pandas as pd

    entities = np.array(graph.entities.names(), object)
    relations = np.array(graph.relations.names(), object)
    names = (entities, relations, entities, np.array(ASKED, object))
    empty = True
    for columns in batches(answers):
        empty = False
        text = [each[ids] for each, ids in zip(names, columns, strict=False)]
        rank, score, known = columns[len(names) :]
        cells = (*text, rank.astype(np.int32), score, known.astype(bool))
        yield graph.labelled(pd.DataFrame(dict(zip(COLUMNS, cells, strict=True))))
    if empty:
        kinds = (*(object,) * len(names), np.int32, np.float64, np.bool_)
        nothing: dict[str, np.ndarray] = {
            name: np.empty(0, kind) for name, kind in zip(COLUMNS, kinds, strict=True)
        }
        yield graph.labelled(pd.DataFrame(nothing))


def _object(
    one: Answers, entities: list[str], relations: list[str], graph: Graph
) -> dict[str, Any]:
    """Return the JSON object of a query; what is missing is null."""
    rows = zip(*map(np.ndarray.tolist, (*one.candidates, one.known)), strict=True)
    what, names = ("relation", relations) if one.relation == MISSING else ("entity", entities)
    return {
        "head": None if one.head == MISSING else entities[one.head],
        "relation": None if one.relation == MISSING else relations[one.relation],
        "tail": None if one.tail == MISSING else entities[one.tail],
        "answers": [
            {what: names[number]}
            | ({"label": graph.label(names[number])} if graph.labels else {})
            | {"score": score, "known": known}
            for number, score, known in rows
        ],
    }
