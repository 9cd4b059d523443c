"""Write answers and predictions to files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.engine.queries import DIRECTIONS, MISSING
from kgagg.errors import InputError, nearest
from kgagg.graph.graph import Graph
from kgagg.prediction.answers import COLUMNS, Answers, batches
from kgagg.prediction.completion import COLUMNS as FACT_COLUMNS
from kgagg.prediction.completion import Predictions
from kgagg.util.files import COMPRESSIONS, writing
from kgagg.util.parquet import parquet_writer

FORMS = ("tsv", "jsonl", "parquet")


def write_answers(
    path: str | os.PathLike[str], answers: Iterable[Answers], graph: Graph, form: str
) -> None:
    """Write answers one after the other; the file appears when all of them are written.

    Parameters
    ----------
    path : path
    answers : iterable of Answers
    graph : Graph
        Has the names.
    form : str
        ``"tsv"``: head, relation, tail, direction ("tail" or "head" is missing), rank from 1,
        score, known (0 or 1), one line for each answer; ``"parquet"``: the same as columns;
        ``"jsonl"``: an object for each query.
    """
    expect_form(form)
    if form == "parquet":
        _write_parquet(path, answers, graph)
        return
    entities, relations = graph.entities.names(), graph.relations.names()
    with writing(path) as file:
        if form == "jsonl":
            for one in answers:
                json.dump(_object(one, entities, relations), file, ensure_ascii=False)
                file.write("\n")
            return
        file.write("\t".join(COLUMNS) + "\n")
        names = [np.array(each, object) for each in (entities, relations, entities, DIRECTIONS)]
        for columns in batches(answers):
            words = [each[ids].tolist() for each, ids in zip(names, columns, strict=False)]
            numbers = [map(str, column.tolist()) for column in columns[len(words) :]]
            file.writelines(
                f"{line}\n" for line in map("\t".join, zip(*words, *numbers, strict=True))
            )


def form_of(path: str | os.PathLike[str], otherwise: str) -> str:
    """Return the format of a file by its ending, be it compressed or not.

    Parameters
    ----------
    path : path
    otherwise : str
        The format of files that end in .txt, or in nothing.

    Raises
    ------
    InputError
        If the ending is that of another format.
    """
    path = Path(path)
    ending = Path(path.stem if path.suffix in COMPRESSIONS else path.name).suffix.removeprefix(".")
    if ending in ("", "txt"):
        return otherwise
    if ending not in FORMS:
        expected = ", ".join(f".{form}" for form in (*FORMS, "txt"))
        raise InputError(f"{path}: no format ends in .{ending}, expected {expected} (or --format)")
    return ending


def expect_form(form: str) -> None:
    """Raise `InputError` if there is no such form of file."""
    if form not in FORMS:
        expected = f"expected one of {', '.join(FORMS)}{nearest(form, FORMS)}"
        raise InputError(f"{form}: no such format, {expected}")


def _object(one: Answers, entities: list[str], relations: list[str]) -> dict[str, Any]:
    """Return the JSON object of a query; what is missing is null."""
    rows = zip(*map(np.ndarray.tolist, (*one.candidates, one.known)), strict=True)
    return {
        "head": None if one.head == MISSING else entities[one.head],
        "relation": relations[one.relation],
        "tail": None if one.tail == MISSING else entities[one.tail],
        "answers": [
            {"entity": entities[entity], "score": score, "known": known}
            for entity, score, known in rows
        ],
    }


def _write_parquet(path: str | os.PathLike[str], answers: Iterable[Answers], graph: Graph) -> None:
    import pyarrow as pa

    entities, relations, directions = (
        pa.array(names, pa.string())
        for names in (graph.entities.names(), graph.relations.names(), DIRECTIONS)
    )
    text, number = pa.string(), pa.int32()
    types = (text, text, text, text, number, pa.float64(), pa.bool_())
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    tables = (entities, relations, entities, directions)
    with parquet_writer(path, schema, compression="zstd") as file:
        for columns in batches(answers):
            named = [names.take(pa.array(ids)) for names, ids in zip(tables, columns, strict=False)]
            rest = [
                pa.array(column).cast(kind)
                for column, kind in zip(columns[4:], types[4:], strict=True)
            ]
            file.write_table(pa.table([*named, *rest], schema=schema))


def write_predictions(
    path: str | os.PathLike[str], predictions: Predictions, form: str = "tsv"
) -> None:
    """Write facts, one after the other, with the columns of `Predictions.to_pandas`.

    Parameters
    ----------
    path : path
    predictions : Predictions
    form : str
        ``"tsv"``, ``"jsonl"`` or ``"parquet"``; a probability that is not known is empty or null.
    """
    expect_form(form)
    if form == "parquet":
        import pyarrow as pa

        table = pa.Table.from_pandas(predictions.to_pandas(), preserve_index=False)
        with parquet_writer(path, table.schema, compression="zstd") as file:
            file.write_table(table)
        return
    with writing(path) as file:
        file.writelines(lines(predictions, form))


def lines(predictions: Predictions, form: str) -> Iterator[str]:
    """Yield the lines of a file: ``"tsv"``, with a header, or ``"jsonl"``."""
    if form == "tsv":
        yield "\t".join(FACT_COLUMNS) + "\n"
    table = predictions.to_pandas()
    for row in table.astype(object).where(table.notna(), None).itertuples(index=False, name=None):
        if form == "jsonl":
            yield json.dumps(dict(zip(FACT_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n"
        else:
            yield "\t".join("" if cell is None else str(cell) for cell in row) + "\n"
