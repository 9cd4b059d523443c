"""Which entities may be answers."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.util.files import line_blocks


def allowed_entities(
    graph: Graph, heads: Sequence[str] | None = None, tails: Sequence[str] | None = None
) -> np.ndarray | None:
    """Return which entities may be tails, and which heads, as `Engine.apply` takes it.

    Parameters
    ----------
    graph : Graph
    heads, tails : sequence of str, optional
        The entities that may be heads, and those that may be tails; all by default.

    Returns
    -------
    bool[2, entities] or None
        None if all may.

    Raises
    ------
    InputError
        If a name is not in the graph, with the nearest ones.
    """
    if heads is None and tails is None:
        return None
    allowed = np.ones((2, len(graph.entities)), np.bool_)
    for row, names in enumerate((tails, heads)):
        if names is not None:
            numbers = [graph.entities.require(name, "entity") for name in names]
            allowed[row] = False
            allowed[row, numbers] = True
    return allowed


def read_entities(path: str | os.PathLike[str], graph: Graph) -> list[str]:
    """Read the names of entities, one on each line.

    Raises
    ------
    InputError
        If a line is not an entity of the graph, or there is none.
    """
    lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
    names = []
    for number, line in enumerate(lines, start=1):
        if name := line.decode(errors="replace").strip("\r\n"):
            try:
                graph.entities.require(name, "entity")
            except InputError as error:
                raise InputError(f"{path}:{number}: {error}") from None
            names.append(name)
    if not names:
        raise InputError(f"{path}: holds no entity, expected one on each line")
    return names
