"""Filtered facts: the known facts that are not candidates of a query."""

from __future__ import annotations

import numpy as np

from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import SPLITS, Graph


def known_before(graph: Graph, split: str) -> Adjacency:
    """Return the facts of the splits before `split`, which are filtered for its queries.

    So the ranks on valid use nothing of test.
    """
    before = [graph.train[:0], *(graph.split(name) for name in SPLITS[: SPLITS.index(split)])]
    return Adjacency.build(np.concatenate(before), len(graph.entities), len(graph.relations))
