"""Read triples from text."""

from __future__ import annotations

import hashlib

import numpy as np

from kgagg.data.triples import Lines
from kgagg.errors import InputError
from kgagg.graph import _reading
from kgagg.graph.vocabulary import Interner


def read_triples(
    lines: Lines, entities: Interner, relations: Interner, content: hashlib._Hash
) -> np.ndarray:
    """Read triples from lines, extending the tables of names; `content` takes their digest."""
    path = lines.where
    state = np.zeros(6, np.int64)
    state[_reading.LINE] = lines.first
    state[_reading.ENTITIES], state[_reading.RELATIONS] = entities.count, relations.count
    triples, cuts = np.empty((1 << 12, 3), np.int32), np.empty(4, np.int64)
    for text in lines.blocks:
        content.update(text.replace(b"\r\n", b"\n"))
        _check_utf8(path, text, int(state[_reading.LINE]))
        buffer = np.frombuffer(bytearray(text), np.uint8)
        state[_reading.POSITION] = 0
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


def _check_utf8(path: str, text: bytes, line: int) -> None:
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line += text.count(b"\n", 0, error.start)
        raise InputError(f"{path}:{line}: not UTF-8") from None
