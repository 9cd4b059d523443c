"""What cyclic bodies predict: many bodies are counted together, and share common steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgagg.engine.index import expect_short
from kgagg.engine.kernels.layout import Facts
from kgagg.engine.scratch import new_walk
from kgagg.errors import Failed
from kgagg.graph.graph import Graph
from kgagg.mining.native import kernels
from kgagg.util.machine import free_memory

# no bound
ALL = 2**62
_ROOM = 1 << 16


class Counts(NamedTuple):
    """What bodies predict.

    Attributes
    ----------
    domain : int64[bodies, 2]
        How many entities can take the first step, and how many of these the counts are about.
    predicted : int64[2, bodies]
        Pairs predicted, from every other entity and from the rest.
    correct : int32[2, bodies, keys]
        Those of them that a step of each key connects.
    work : int
        How many entities were met, and begun at.
    """

    domain: np.ndarray
    predicted: np.ndarray
    correct: np.ndarray
    work: int


class BodyCounter:
    """Counts bodies on a graph, on as many threads as call it.

    Parameters
    ----------
    graph : Graph
    threads : int
        How many threads share the memory.
    """

    def __init__(self, graph: Graph, threads: int) -> None:
        self.graph = graph
        self.memory = int(0.6 * free_memory()) // threads
        self._facts = Facts(*(getattr(graph.adjacency, name) for name in Facts._fields))
        self._spare: list[kernels.Space] = []

    def count(
        self,
        bodies: np.ndarray,
        cancelled: np.ndarray,
        *,
        turn: np.ndarray | None = None,
        bound: int = ALL,
    ) -> Counts:
        """Count a few bodies.

        Parameters
        ----------
        bodies : int32[n, length]
            Step keys, in lexicographic order; -1 behind the end of shorter bodies.
        cancelled : uint8[1]
            The count ends early when it is not zero; what is returned is then of no use.
        turn : int64[entities], optional
            Samples take the entities that a body begins at in ascending order of these numbers.
        bound : int
            A body that meets more entities than this is counted for a sample.

        Raises
        ------
        InputError
            If a body is too long.
        Failed
            If there is not enough memory.
        """
        expect_short(bodies.shape[1])
        adjacency = self.graph.adjacency
        starts = np.unique(
            np.concatenate(
                [
                    adjacency.key_entities[adjacency.key_ptr[key] : adjacency.key_ptr[key + 1]]
                    for key in np.unique(bodies[:, 0])
                ]
            )
        )
        if turn is not None:
            starts = starts[np.argsort(turn[starts])]
        node = kernels.build_trie(bodies)
        try:
            space = self._spare.pop()
        except IndexError:
            space = _space(self.graph)
        while True:
            counts = (
                np.zeros((len(bodies), 2), np.int64),
                np.zeros((2, len(bodies)), np.int64),
                np.zeros((2, len(bodies), 2 * len(self.graph.relations)), np.int32),
            )
            for stamps in (space.walk.row, space.walk.seen, space.linked):
                stamps[:] = 0
            spent, visits = np.zeros((2, len(node)), np.int64)
            if kernels.count_bodies(
                self._facts, node, starts, bound, cancelled, space, spent, visits, *counts
            ):
                break
            room = 2 * len(space.walk.arena)
            if 4 * room > self.memory:
                raise Failed(
                    f"counting a rule with {bodies.shape[1]} body atoms needs more than the "
                    f"{self.memory / 1e9:.1f} GB of memory of a thread; use fewer threads"
                )
            space = space._replace(walk=space.walk._replace(arena=np.empty(room, np.int32)))
        self._spare.append(space)
        return Counts(*counts, int(spent.sum() + visits.sum()))


def _space(graph: Graph) -> kernels.Space:
    adjacency, entities = graph.adjacency, len(graph.entities)
    degree = np.diff(adjacency.segment_ptr[adjacency.entity_ptr]).max(initial=0)
    return kernels.Space(
        walk=new_walk(entities, entities + _ROOM),
        level=np.zeros((4, 64), np.int64),
        linked=np.empty((entities, 2), np.int32),
        link=np.empty((degree, 2), np.int32),
    )
