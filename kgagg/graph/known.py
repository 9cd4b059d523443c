"""Which facts are known, and filtered from the candidates of a query."""

from __future__ import annotations

import numpy as np

from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import SPLITS, Graph


def all_facts(graph: Graph) -> Adjacency:
    """Return the facts of all splits."""
    triples = np.concatenate([graph.train, graph.valid, graph.test])
    return Adjacency.build(triples, len(graph.entities), len(graph.relations))


def known_before(graph: Graph, split: str) -> Adjacency:
    """Return the facts of the splits before `split`, which are no candidates for its queries.

    So nothing of test enters the ranks on valid.
    """
    before = [graph.train[:0], *(graph.split(name) for name in SPLITS[: SPLITS.index(split)])]
    return Adjacency.build(np.concatenate(before), len(graph.entities), len(graph.relations))
