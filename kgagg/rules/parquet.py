"""Rules as a Parquet file: a row for each rule, for tools that read tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgagg.errors import InputError
from kgagg.rules.dialects import anyburl
from kgagg.util.parquet import open_parquet, parquet_writer, reading_parquet

CHUNK = 1 << 16
_NAME = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("rule", pa.string()),
        ("type", _NAME),
        ("length", pa.int32()),
        ("relation", _NAME),
        ("head_constant", _NAME),
        ("body_constant", _NAME),
        ("predicted", pa.int64()),
        ("correct", pa.int64()),
        ("pca_predicted", pa.int64()),
        ("confidence", pa.float64()),
        ("file", _NAME),
        ("line", pa.int32()),
    ]
)
_READ = ("rule", "predicted", "correct")


def write_table(path: Path, chunks: Iterator[list[Any]]) -> None:
    """Write chunks of the columns of `SCHEMA`; the file appears when all of them are written."""
    with parquet_writer(path, SCHEMA) as file:
        for columns in chunks:
            pairs = zip(columns, SCHEMA.types, strict=True)
            arrays = [pa.array(column).cast(kind) for column, kind in pairs]
            file.write_table(pa.table(arrays, schema=SCHEMA))


class RuleTable:
    """A Parquet file of rules, with at least the columns ``rule``, ``predicted`` and ``correct``.

    Raises
    ------
    InputError
        If it is damaged, or a column is missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_parquet(path, "rules")
        names = set(self._file.schema_arrow.names)
        if missing := [column for column in _READ if column not in names]:
            raise InputError(f"{path}: has no column {missing[0]}, expected {', '.join(_READ)}")

    def blocks(self) -> Iterator[bytes]:
        """Yield the rules as lines of AnyBURL's text."""
        with reading_parquet(self._path, "rules"):
            for batch in self._file.iter_batches(CHUNK, columns=list(_READ)):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                yield "".join(map(_line, rows)).encode()

    def pca_predicted(self) -> np.ndarray | None:
        """Return AMIE's PCA body size by row, -1 for none; None if no rule has one: int64[rows]."""
        if "pca_predicted" not in self._file.schema_arrow.names:
            return None
        with reading_parquet(self._path, "rules"):
            table = self._file.read(["pca_predicted"])
        column = table["pca_predicted"].fill_null(-1).to_numpy()
        return np.asarray(column) if column.max(initial=-1) >= 0 else None


def _line(row: tuple[Any, ...]) -> str:
    rule, predicted, correct = row
    rule = str(rule).replace("\n", " ")
    if predicted is None or correct is None:
        return f"{rule}\n"
    return f"{predicted}\t{correct}\t{anyburl.STYLES[0](predicted, correct)}\t{rule}\n"
