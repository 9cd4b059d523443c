"""Read triples from text."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np

from kgagg.errors import InputError
from kgagg.graph import _reading
from kgagg.graph.vocabulary import Interner
from kgagg.util.files import COMPRESSIONS, line_blocks


def split_file(folder: Path, split: str) -> Path | None:
    """Return the file of a split, plain or compressed, None if there is none."""
    found = [
        path for ending in ("", *COMPRESSIONS) if (path := folder / f"{split}.txt{ending}").exists()
    ]
    if len(found) > 1:
        raise InputError(f"{folder}: has both {found[0].name} and {found[1].name}, expected one")
    return found[0] if found else None


def read_triples(
    path: Path, entities: Interner, relations: Interner, content: hashlib._Hash
) -> np.ndarray:
    """Read the triples of one file, extending the tables of names; `content` takes its digest."""
    state = np.zeros(6, np.int64)
    state[_reading.LINE] = 1
    state[_reading.ENTITIES], state[_reading.RELATIONS] = entities.count, relations.count
    triples, cuts = np.empty((1 << 12, 3), np.int32), np.empty(4, np.int64)
    for text in line_blocks(path):
        content.update(text.replace(b"\r\n", b"\n"))
        _check_utf8(path, text, int(state[_reading.LINE]))
        buffer = np.frombuffer(bytearray(text), np.uint8)
        state[_reading.POSITION] = 0
        if state[_reading.LINE] == 1 and (header := _header(text)):
            warnings.warn(f"{path}:1: a header, not a triple: {header}", stacklevel=2)
            state[_reading.POSITION], state[_reading.LINE] = text.index(b"\n") + 1, 2
        while True:
            status = _reading.read_triples(
                buffer,
                state,
                entities.blob,
                entities.offsets,
                entities.table,
                relations.blob,
                relations.offsets,
                relations.table,
                triples,
                cuts,
            )
            entities.count = int(state[_reading.ENTITIES])
            relations.count = int(state[_reading.RELATIONS])
            if status != _reading.FULL:
                break
            start = state[_reading.POSITION]
            line = text.index(b"\n", start) - start
            entities.reserve(2, line)
            relations.reserve(1, line)
            if state[_reading.ROWS] == len(triples):
                triples = np.concatenate([triples, np.empty_like(triples)])
        if status != _reading.DONE:
            raise InputError(f"{path}:{state[_reading.LINE]}: {_PROBLEMS[status]}")
    return triples[: state[_reading.ROWS]].copy()


_PROBLEMS = {
    _reading.COLUMNS: "expected three columns separated by tabs: head, relation, tail",
    _reading.EMPTY_NAME: "an empty name, expected head, relation and tail",
}


# how people call the columns of triples
_HEADERS = (
    {"head", "subject", "subj", "source", "src", "from", "head_entity", "entity1"},
    {"relation", "predicate", "rel", "property", "edge", "relation_type", "edge_type"},
    {"tail", "object", "obj", "target", "dst", "to", "tail_entity", "entity2"},
)


def _header(text: bytes) -> str:
    """Return the first line if it names the columns, else nothing."""
    line = text.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    cells = line.lower().removeprefix("#").split("\t")
    columns = zip(cells, _HEADERS, strict=False)
    return line if len(cells) == 3 and all(cell.strip() in known for cell, known in columns) else ""


def _check_utf8(path: Path, text: bytes, line: int) -> None:
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line += text.count(b"\n", 0, error.start)
        raise InputError(f"{path}:{line}: not UTF-8") from None
