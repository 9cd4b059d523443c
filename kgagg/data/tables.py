"""Tables of triples: CSV, Parquet, and what other libraries hold in memory, by way of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from kgagg.data.columns import positions, report_columns
from kgagg.errors import InputError
from kgagg.util.files import COMPRESSIONS, blocks, open_binary
from kgagg.util.parquet import open_parquet, reading_parquet

_ROWS = 1 << 17
_PARTS = ("head", "relation", "tail")


def text_blocks(
    path: Path, delimiter: str, count: int, columns: Sequence[int], *, header: bool
) -> Iterator[bytes]:
    """Yield the triples of a text file with columns as lines (see `kgagg.data.triples`).

    Parameters
    ----------
    path : Path
    delimiter : str
        Unless it is a tab, cells may be in quotation marks.
    count : int
        How many columns there are.
    columns : sequence of int
        Which are head, relation and tail.
    header : bool
        The first line is none of them.

    Raises
    ------
    InputError
        If a line has another number of columns, or a name is missing.
    """
    wrong: list[Any] = []

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error"

    names = [f"f{i}" for i in range(count)]
    wanted = [names[i] for i in columns]
    line = 1 + header
    try:
        with open_binary(path) as file:
            reader = pa_csv.open_csv(
                file,
                pa_csv.ReadOptions(column_names=names, skip_rows=int(header), use_threads=False),
                pa_csv.ParseOptions(
                    delimiter=delimiter,
                    quote_char=delimiter != "\t" and '"',
                    invalid_row_handler=refuse,
                ),
                pa_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            for batch in reader:
                yield _lines(batch.columns, str(path), line)
                line += len(batch)
    except (pa.ArrowException, EOFError, OSError) as error:
        if wrong:
            expected = f"expected {count} columns as in the first line, found"
            place = f"{path}:{wrong[0].number}" if wrong[0].number else str(path)
            raise InputError(f"{place}: {expected} {wrong[0].actual_columns}") from None
        raise InputError(f"{path}: {str(error).splitlines()[0]}") from None


def parquet_blocks(path: Path) -> Iterator[bytes]:
    """Yield the triples of a Parquet file, plain or compressed, as lines."""
    what = "triples"
    with reading_parquet(path, what):
        if path.suffix in COMPRESSIONS:
            import pyarrow.parquet as pq

            file = pq.ParquetFile(pa.BufferReader(b"".join(blocks(path))))
        else:
            file = open_parquet(path, what)
    names = file.schema_arrow.names
    chosen = _chosen(names, str(path))
    row = 1
    with reading_parquet(path, what):
        for batch in file.iter_batches(_ROWS, columns=[names[i] for i in chosen]):
            columns = [batch.column(names[i]) for i in chosen]
            yield _lines(columns, str(path), row)
            row += len(batch)


def arrow_blocks(table: Any, where: str) -> Iterator[bytes]:
    """Yield the triples of a table with an Arrow interface as lines.

    Parameters
    ----------
    table : object
        Has ``__arrow_c_stream__``: of pyarrow, pandas, polars, DuckDB and others.
    where : str
        How messages name it.
    """
    try:
        whole = pa.table(table)
    except pa.ArrowException as error:
        raise InputError(f"{where}: {str(error).splitlines()[0]}; expected names") from None
    chosen = _chosen(whole.column_names, where)
    row = 1
    for batch in whole.select(list(chosen)).to_batches(_ROWS):
        yield _lines(batch.columns, where, row)
        row += len(batch)


def _chosen(names: Sequence[str], where: str) -> tuple[int, int, int]:
    """Return which columns are head, relation and tail: by name, or else the first three."""
    if len(names) < 3:
        raise InputError(
            f"{where}: {len(names)} columns ({', '.join(map(str, names))}), "
            "expected head, relation and tail"
        )
    chosen = positions(names) or (0, 1, 2)
    report_columns(where, names, chosen)
    return chosen


def _lines(columns: Sequence[Any], where: str, row: int) -> bytes:
    """Join three columns to lines.

    Raises
    ------
    InputError
        If a name is missing, empty, or has a tab or a line end in it.
    """
    texts = []
    for part, column in zip(_PARTS, columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            try:
                column = column.cast(pa.string())
            except pa.ArrowException:
                raise InputError(
                    f"{where}: {part} has values of type {column.type}, expected names"
                ) from None
        filled = pc.fill_null(column, "")
        empty = pc.equal(pc.utf8_trim_whitespace(filled), "")
        broken = pc.match_substring_regex(filled, "[\t\n\r]")
        for bad, what in ((empty, "is empty"), (broken, "has a tab or a line end in it")):
            if pc.any(bad).as_py():
                place = row + pc.index(bad, True).as_py()
                raise InputError(f"{where}:{place}: {part} {what}, expected a name")
        texts.append(filled.cast(pa.string()))
    end = pc.binary_join_element_wise(texts[2], "", "\n")
    joined = pc.binary_join_element_wise(texts[0], texts[1], end, "\t")
    return joined.buffers()[2].to_pybytes() if len(joined) else b""
