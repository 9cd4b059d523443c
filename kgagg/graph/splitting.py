"""Split a graph into train, valid and test."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np

from kgagg.errors import InputError
from kgagg.graph.graph import SPLITS, Graph
from kgagg.graph.leakage import groups
from kgagg.graph.vocabulary import Vocabulary

RATIO = (0.8, 0.1, 0.1)


def split_graph(
    graph: Graph, ratio: Sequence[float] = RATIO, *, seed: int = 0, no_leak: bool = False
) -> Graph:
    """Split the triples of a graph at random; every name of valid and test is in train.

    Parameters
    ----------
    graph : Graph
        All of its triples are split again, each once.
    ratio : sequence of float
        The shares of train, valid and test, which sum to 1.
    seed : int
    no_leak : bool
        Keep triples of one pair of entities together if their relations are inverse to each other,
        duplicates or symmetric (see `kgagg.graph.leakage`), so that none gives another one away.

    Returns
    -------
    Graph
        The same whatever the order of the triples.

    Raises
    ------
    InputError
        If the ratio is not one, or too few triples can be left out of train.
    """
    shares = _shares(ratio)
    triples, entities, relations = _numbered(graph)
    group = groups(triples, len(relations)) if no_leak else np.arange(len(triples))
    rows = _chosen(triples, group, shares, seed)
    parts = {name: triples[np.sort(part)] for name, part in zip(SPLITS, rows, strict=True)}
    made = Graph.indexed(entities, relations, **parts, digest="")
    return dataclasses.replace(made, digest=_digest(made))


def _shares(ratio: Sequence[float]) -> tuple[float, float, float]:
    shares = [float(share) for share in ratio]
    whole = len(shares) == 3 and all(share >= 0 for share in shares) and shares[0] > 0
    if not whole or abs(sum(shares) - 1) > 1e-6:
        given = ",".join(f"{share:g}" for share in ratio)
        raise InputError(f"ratio {given}: expected shares of train, valid and test that sum to 1")
    return shares[0], shares[1], shares[2]


def _numbered(graph: Graph) -> tuple[np.ndarray, Vocabulary, Vocabulary]:
    """Return all triples, each once, numbered as in a graph of which all names are in train.

    Returns
    -------
    triples : int32[n, 3]
        Sorted.
    entities, relations : Vocabulary
    """
    entities, entity = graph.entities.sorted([len(graph.entities)])
    relations, relation = graph.relations.sorted([len(graph.relations)])
    head, kind, tail = np.concatenate([graph.split(name) for name in SPLITS]).T
    numbers = np.stack([entity[head], relation[kind], entity[tail]], axis=1).astype(np.int32)
    return np.unique(numbers, axis=0), entities, relations


def _chosen(
    triples: np.ndarray, group: np.ndarray, shares: tuple[float, float, float], seed: int
) -> list[np.ndarray]:
    """Return the rows of train, valid and test.

    In a random order of groups, train takes each that has the first occurrence of a name; of the
    others, valid and test take as many as they need.
    """
    order = np.random.default_rng(seed).permutation(int(group.max()) + 1)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = np.argsort(place[group], kind="stable")
    needed = np.zeros(len(order), np.bool_)
    for names in (triples[rows][:, ::2], triples[rows][:, 1:2]):
        first = np.unique(names.ravel(), return_index=True)[1] // names.shape[1]
        needed[group[rows[first]]] = True
    size = np.bincount(group, minlength=len(order))
    free = order[~needed[order]]
    wanted = [round(share * len(triples)) for share in shares[1:]]
    total = np.cumsum(size[free])
    if len(free) == 0 or total[-1] < sum(wanted):
        most = int(total[-1]) if len(free) else 0
        raise InputError(
            f"only {most:,} of {len(triples):,} triples can be left out of train, as each name has "
            f"to be there; the ratio takes {sum(wanted):,}"
        )
    part = np.zeros(len(order), np.int8)
    cuts = np.searchsorted(total, np.cumsum(wanted), side="right")
    part[free[: cuts[0]]], part[free[cuts[0] : cuts[1]]] = 1, 2
    return [np.flatnonzero(part[group] == number) for number in range(3)]


def _digest(graph: Graph) -> str:
    """Return the digest that the graph has when it is written and read."""
    whole = hashlib.sha256()
    for split in SPLITS:
        content = hashlib.sha256()
        for lines in graph.lines(split):
            content.update(lines.encode())
        whole.update(content.digest())
    return whole.hexdigest()
