"""Working space: the arrays that one thread fills, and that grow when a query needs more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kgagg.engine.kernels import layout
from kgagg.util.arrays import in_large_pages

# how many of each thing that cannot be known before there is room for at first
START = 1 << 16
_GROWING = ("arena", "hits", "fires", "pieces", "piece_start", "sorted", "links", "lists")


def new_walk(entities: int, room: int) -> layout.Walk:
    """Return working space of walks on a graph; frontiers take `room` numbers."""
    return layout.Walk(**_zeros(_walk_shapes(entities, room)))


def new_scratch(
    stop: np.ndarray,
    allowed: np.ndarray,
    *,
    entities: int,
    slots: int,
    nodes: int,
    large_pages: bool = True,
) -> layout.Scratch:
    """Return the working space of a thread.

    Parameters
    ----------
    stop : bool[1]
    allowed : bool[2, entities]
    entities, slots, nodes : int
        How many entities and slots the graph has, and nodes the trie.
    large_pages : bool
        Whether it is to serve long (see `in_large_pages`).
    """
    shapes: dict[str, tuple[Any, Any]] = {
        "state": (layout.CELLS, np.int64),
        "mark": ((entities, 4), np.int32),
        **_walk_shapes(entities, START),
        "memo": ((nodes, 3), np.int64),
        "hits": (START, np.int64),
        "heap": (slots, np.int64),
        "streams": ((slots, 3), np.int32),
        "member": (entities, np.int32),
        "fires": (START, np.int32),
        "pieces": (START, np.int64),
        "piece_start": (START, np.int64),
        "bucket": ((slots, 4), np.int64),
        "links": ((START, 3), np.int32),
        "list_ptr": (entities + 1, np.int64),
        "lists": (START, np.int32),
        "order": ((2, entities), np.int32),
        "digits": (256, np.int64),
        "sorted": (START, np.int64),
        "climb": (64, np.int32),
        "stack": (nodes, np.int32),
    }
    arrays = _zeros(shapes)
    if large_pages:
        arrays = in_large_pages(arrays)
    return _records(stop, arrays | {"allowed": allowed})


def grown(scratch: layout.Scratch) -> layout.Scratch:
    """Return the working space with twice the room for what cannot be known before."""
    arrays = _arrays(scratch)
    return _records(scratch.stop, {**arrays, **{name: doubled(arrays[name]) for name in _GROWING}})


def size_of(scratch: layout.Scratch) -> int:
    """Return how many bytes the working space takes."""
    return sum(array.nbytes for array in _arrays(scratch).values())


def new_output(rows: int, rules: int) -> layout.Output:
    """Return room for `rows` candidates, and for `rules` rules that predict them."""
    return layout.Output(
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.float64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rules, np.int32),
    )


def doubled(array: np.ndarray) -> np.ndarray:
    """Return an array of twice the length that begins with `array`."""
    return np.concatenate([array, np.zeros_like(array)])


def joined(*records: Any) -> dict[str, np.ndarray]:
    """Return the arrays of records by name."""
    return {name: array for record in records for name, array in record._asdict().items()}


def part(record: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Make a record of the type `record` from arrays by name."""
    return record(**{name: arrays[name] for name in record._fields})


def _walk_shapes(entities: int, room: int) -> dict[str, tuple[Any, Any]]:
    return {
        "seen": (entities, np.int32),
        "row": ((entities, 2), np.int32),
        "arena": (room, np.int32),
        "found": (entities, np.int32),
        "path": ((6, 64), np.int64),
    }


def _zeros(shapes: Mapping[str, tuple[Any, Any]]) -> dict[str, np.ndarray]:
    return {name: np.zeros(*shape) for name, shape in shapes.items()}


def _records(stop: np.ndarray, arrays: Mapping[str, np.ndarray]) -> layout.Scratch:
    """Put the arrays of the working space of a thread into their records."""
    return layout.Scratch(
        stop,
        arrays["state"],
        part(layout.Walk, arrays),
        part(layout.Frontiers, arrays),
        part(layout.Queue, arrays),
        part(layout.Pool, arrays),
        part(layout.Chains, arrays),
        part(layout.Lists, arrays),
    )


def _arrays(scratch: layout.Scratch) -> dict[str, np.ndarray]:
    """Return the arrays of the working space of a thread by name, but for `stop`."""
    _, state, *records = scratch
    return {"state": state, **joined(*records)}
