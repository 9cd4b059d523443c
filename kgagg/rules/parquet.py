"""Rules as a Parquet file: a row for each rule, by rank, for tools that read tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgagg.errors import InputError
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules.confidence import TYPES, Confidence
from kgagg.rules.dialects import anyburl
from kgagg.rules.reading import Reader
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import BARE
from kgagg.util.files import replacing

_CHUNK = 1 << 16


def write_parquet(rules: RuleSet, path: Path) -> None:
    """Write one row for each rule, by rank."""
    name = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            ("rule", pa.string()),
            ("type", name),
            ("length", pa.int32()),
            ("relation", name),
            ("head_constant", name),
            ("body_constant", name),
            ("predicted", pa.int64()),
            ("correct", pa.int64()),
            ("pca_predicted", pa.int64()),
            ("confidence", pa.float64()),
            ("file", name),
            ("line", pa.int32()),
        ]
    )
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema) as file:
        for first in range(0, len(rules), _CHUNK):
            rows = np.arange(first, min(first + _CHUNK, len(rules)))
            bare = rules.flags[rows] & BARE != 0
            pca = None if rules.pca_predicted is None else rules.pca_predicted[rows]
            chosen = list(rules.rules(rows))
            columns: list[Any] = [
                [line.split("\t")[-1] for line in rules.text_lines(rows)],
                [TYPES[number] for number in rules.types[rows].tolist()],
                rules.length[rows],
                [rule.relation for rule in chosen],
                [rule.head_constant for rule in chosen],
                [rule.body_constant for rule in chosen],
                pa.array(rules.predicted[rows], mask=bare),
                pa.array(rules.correct[rows], mask=bare),
                [None] * len(rows) if pca is None else pa.array(pca, mask=pca < 0),
                rules.confidence[rows],
                [rules.sources[number] for number in rules.source[rows].tolist()],
                rules.line[rows],
            ]
            arrays = [
                pa.array(column).cast(kind)
                for column, kind in zip(columns, schema.types, strict=True)
            ]
            file.write_table(pa.table(arrays, schema=schema))


def read_parquet(
    path: Path,
    vocabularies: tuple[Vocabulary, Vocabulary] | None,
    confidence: Confidence,
    strict: bool,
    threads: int,
) -> RuleSet:
    """Read rules from the columns ``rule``, ``predicted`` and ``correct`` of a Parquet file."""
    wanted = ["rule", "predicted", "correct"]
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise InputError(f"{path}: damaged: {error}") from None
    names = set(file.schema_arrow.names)
    if missing := [column for column in wanted if column not in names]:
        raise InputError(f"{path}: has no column {missing[0]}, expected {', '.join(wanted)}")

    def blocks() -> Iterator[bytes]:
        for batch in file.iter_batches(_CHUNK, columns=wanted):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            yield "".join(map(_parquet_line, rows)).encode()

    reader = Reader(vocabularies, Confidence(), strict, threads)
    reader.read_blocks(blocks(), path, 0)
    rules = RuleSet.from_reader(reader, (str(path),))
    if "pca_predicted" in names:
        column = file.read(["pca_predicted"])["pca_predicted"].fill_null(-1).to_numpy()
        if column.max(initial=-1) >= 0:
            rules = dataclasses.replace(rules, pca_predicted=column[rules.line - 1])
    return rules.with_confidence(confidence)


def _parquet_line(row: tuple[Any, ...]) -> str:
    rule, predicted, correct = row
    rule = str(rule).replace("\n", " ")
    if predicted is None or correct is None:
        return f"{rule}\n"
    return f"{predicted}\t{correct}\t{anyburl.STYLES[0](predicted, correct)}\t{rule}\n"
