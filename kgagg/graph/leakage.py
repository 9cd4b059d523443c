"""Test leakage: triples that follow from an inverse, duplicate or symmetric relation of train.

Relations are related as in Akrami et al. (Realistic re-evaluation of knowledge graph completion
methods, SIGMOD 2020): two are duplicates if they share at least 80 % of the pairs of entities of
each; inverses if that holds with the pairs of one turned round; a relation that is its own inverse
is symmetric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

if TYPE_CHECKING:
    from kgagg.graph.graph import Graph

SHARE = 0.8


class Related(NamedTuple):
    """Which relations say nearly the same.

    Attributes
    ----------
    duplicate, inverse : int64[n, 2]
        Pairs of relations, in both orders; no relation is its own duplicate.
    """

    duplicate: np.ndarray
    inverse: np.ndarray


def related_relations(triples: np.ndarray, relations: int) -> Related:
    """Find which relations say nearly the same about the same pairs of entities.

    Parameters
    ----------
    triples : int32[n, 3]
    relations : int
        How many there are.
    """
    triples = np.unique(triples, axis=0)
    # a loop is its own inverse, and says nothing about its relation
    triples = triples[triples[:, 0] != triples[:, 2]]
    turned = triples[:, 0] > triples[:, 2]
    pair = _pairs(triples)
    row, column = pair, 2 * triples[:, 1] + turned
    ones = np.ones(len(row), np.int64)
    links = sparse.csr_array((ones, (row, column)), (pair.max(initial=-1) + 1, 2 * relations))
    shared = (links.T @ links).tocoo()
    count = np.bincount(triples[:, 1], minlength=relations)
    one, other = shared.row // 2, shared.col // 2
    # the pairs of both relations are in the same order, or one of them is turned round
    same = shared.row % 2 == shared.col % 2
    found = []
    for chosen in (same & (one != other), ~same):
        key = one[chosen].astype(np.int64) * relations + other[chosen]
        keys, place = np.unique(key, return_inverse=True)
        total = np.bincount(place, shared.data[chosen], len(keys))
        pairs = np.stack(np.divmod(keys, relations), axis=1)
        found.append(pairs[total >= SHARE * count[pairs].max(axis=1)])
    return Related(*found)


def _pairs(triples: np.ndarray) -> np.ndarray:
    """Return the number of the pair of entities of each triple, whatever their order: int64[n]."""
    low = np.minimum(triples[:, 0], triples[:, 2]).astype(np.int64)
    high = np.maximum(triples[:, 0], triples[:, 2]).astype(np.int64)
    key = low * (int(triples.max(initial=0)) + 1) + high
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def groups(triples: np.ndarray, relations: int) -> np.ndarray:
    """Give triples of one pair of entities by related relations one number: int64[n]."""
    one, other = np.concatenate(related_relations(triples, relations)).T
    links = sparse.csr_array((np.ones(len(one)), (one, other)), (relations, relations))
    component = csgraph.connected_components(links, directed=False)[1]
    key = _pairs(triples) * relations + component[triples[:, 1]]
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def leaking(graph: Graph, split: str = "test") -> np.ndarray:
    """Find the triples of a split that a related relation gives away in train.

    Returns
    -------
    bool[n]
        True where train has the same pair with a duplicate of the relation, or, turned round, with
        an inverse of it.
    """
    every = np.concatenate([graph.train, graph.valid, graph.test])
    duplicate, inverse = related_relations(every, len(graph.relations))
    triples = graph.split(split)
    result = np.zeros(len(triples), np.bool_)
    for pairs, step in ((duplicate, 1), (inverse, -1)):
        for relation, other in pairs.tolist():
            rows = np.flatnonzero(triples[:, 1] == relation)
            asked = triples[rows][:, ::step].copy()
            asked[:, 1] = other
            result[rows] |= graph.adjacency.contains(asked)
    return result
