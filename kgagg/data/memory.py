"""Triples that are in memory already: tables, arrays, lists, and triples of PyKEEN."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from kgagg.data.triples import Lines
from kgagg.errors import InputError

_EXPECTED = "expected a table, an array or a list with head, relation and tail"


def open_memory(triples: Any, where: str) -> Lines:
    """Open triples in memory.

    Parameters
    ----------
    triples : object
        A table with an Arrow interface (``__arrow_c_stream__``: pandas, polars, DuckDB, pyarrow),
        of which columns are taken by name (head, subject, source, ...) or else the first three; an
        array of shape (n, 3); an iterable of triples; or a ``TriplesFactory`` of PyKEEN.
    where : str
        How messages name it.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if isinstance(triples, str | os.PathLike):
        raise InputError(f"{where}={os.fspath(triples)!r}: a path, expected triples (Graph.read)")
    labeled = getattr(triples, "labeled_triples", None)
    if labeled is not None:
        triples = labeled
    elif hasattr(triples, "mapped_triples"):
        raise InputError(f"{where}: has numbers only, expected a TriplesFactory with labels")
    if not hasattr(triples, "__arrow_c_stream__"):
        triples = _table(triples, where)
    from kgagg.data.tables import arrow_blocks

    return Lines(where, 1, arrow_blocks(triples, where))


def _table(triples: Any, where: str) -> Any:
    """Return an array or an iterable of triples as a table of Arrow."""
    import pyarrow as pa

    if isinstance(triples, np.ndarray):
        if triples.ndim != 2 or triples.shape[1] != 3:
            raise InputError(f"{where}: an array of shape {triples.shape}, expected (n, 3)")
        columns = [column.tolist() for column in triples.T]
    elif isinstance(triples, Iterable) and not hasattr(triples, "collect"):
        rows = list(triples)
        for number, row in enumerate(rows, start=1):
            if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
                raise InputError(f"{where}:{number}: {row!r}, expected head, relation and tail")
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    else:
        lazy = "; collect() it first" if hasattr(triples, "collect") else ""
        raise InputError(f"{where}: {type(triples).__name__}, {_EXPECTED}{lazy}")
    try:
        parts = [pa.array(column) if column else pa.array([], pa.string()) for column in columns]
    except pa.ArrowException as error:
        raise InputError(f"{where}: {str(error).splitlines()[0]}; expected names") from None
    return pa.table(parts, ["head", "relation", "tail"])
