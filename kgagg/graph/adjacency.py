"""The adjacency of a graph: its facts by entity and relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgagg.errors import InputError
from kgagg.graph import edges as _edges
from kgagg.util.checks import (
    expect,
    expect_arrays,
    expect_ascending,
    expect_pointers,
    expect_within,
)

_TYPES = {
    "entity_ptr": (np.int32,),
    "segment_key": (np.int32,),
    "segment_ptr": (np.int32,),
    "neighbours": (np.int32,),
    "key_ptr": (np.int64,),
    "key_entities": (np.int32,),
}


@dataclass(frozen=True)
class Adjacency:
    """Facts by entity and step key, in both directions.

    The step key ``2 * relation + direction`` names a step along an edge: direction 0 walks from
    head to tail, 1 from tail to head, so ``key ^ 1`` walks back. The neighbours that an entity
    reaches by one key are a segment. Everything grows with the number of facts, nothing with
    entities times relations.

    Attributes
    ----------
    entity_ptr : int32[entities + 1]
        The segments of each entity.
    segment_key : int32[segments]
        The step key of each segment, ascending within an entity.
    segment_ptr : int32[segments + 1]
        The neighbours of each segment.
    neighbours : int32[2 * facts]
        Ascending within a segment.
    key_ptr : int64[2 * relations + 1]
        For each step key, its part of `key_entities`.
    key_entities : int32[segments]
        The entities that have a segment with this key, ascending.
    """

    entity_ptr: np.ndarray
    segment_key: np.ndarray
    segment_ptr: np.ndarray
    neighbours: np.ndarray
    key_ptr: np.ndarray
    key_entities: np.ndarray

    @classmethod
    def build(cls, triples: np.ndarray, entities: int, relations: int) -> Adjacency:
        """Index `triples`, int32[n, 3] of head, relation, tail.

        Raises
        ------
        InputError
            If there are too many for pointers of 32 bits, which keep the adjacency small.
        """
        if 2 * len(triples) > np.iinfo(np.int32).max:
            raise InputError(f"{len(triples):,} triples: expected fewer than 2**30")
        steps = np.empty((3, 2 * len(triples)), np.int32)
        starts = np.empty(max(entities, 2 * relations) + 1, np.int64)
        segments, edges = _edges.sort_steps(
            triples, entities, relations, steps, np.empty_like(steps), starts
        )
        arrays = {
            "entity_ptr": np.zeros(entities + 1, np.int32),
            "segment_key": np.empty(segments, np.int32),
            "segment_ptr": np.empty(segments + 1, np.int32),
            "neighbours": np.empty(edges, np.int32),
            "key_ptr": np.zeros(2 * relations + 1, np.int64),
            "key_entities": np.empty(segments, np.int32),
        }
        _edges.index_steps(steps, *arrays.values(), starts)
        return cls(**arrays)

    @classmethod
    def checked(cls, arrays: dict[str, np.ndarray], entities: int, relations: int) -> Adjacency:
        """Take the adjacency out of the arrays of a file, and check it.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not one of that many entities and relations (see `kgagg.util.checks`).
        """
        expect_arrays(arrays, _TYPES, -1)
        one = cls(**arrays)
        segments = len(one.segment_key)
        expect(len(one.entity_ptr) == entities + 1, "entity_ptr does not fit")
        expect(len(one.segment_ptr) == segments + 1, "segment_ptr does not fit")
        expect(len(one.key_ptr) == 2 * relations + 1, "key_ptr does not fit")
        expect(len(one.key_entities) == segments, "key_entities does not fit")
        for name, values, pointers, count in (
            ("segment_key", one.segment_key, one.entity_ptr, 2 * relations),
            ("neighbours", one.neighbours, one.segment_ptr, entities),
            ("key_entities", one.key_entities, one.key_ptr, entities),
        ):
            expect_pointers(f"the pointer of {name}", pointers, len(values))
            expect_within(name, values, 0, count - 1)
            expect_ascending(name, values, pointers)
        expect((one.segment_ptr[1:] > one.segment_ptr[:-1]).all(), "a segment is empty")
        return one

    @property
    def facts(self) -> int:
        """How many distinct facts there are."""
        return len(self.neighbours) // 2

    def contains(self, triples: np.ndarray) -> np.ndarray:
        """Return for each of `triples`, int32[n, 3], whether it is a fact: bool[n]."""
        found = np.empty(len(triples), np.bool_)
        _edges.contains(
            self.entity_ptr, self.segment_key, self.segment_ptr, self.neighbours, triples, found
        )
        return found

    def step(self, entity: int, key: int) -> np.ndarray:
        """Return the neighbours that `entity` reaches by the step `key`: int32[n], ascending."""
        first, last = self.entity_ptr[entity], self.entity_ptr[entity + 1]
        segment = first + np.searchsorted(self.segment_key[first:last], key)
        if segment == last or self.segment_key[segment] != key:
            return self.neighbours[:0]
        return self.neighbours[self.segment_ptr[segment] : self.segment_ptr[segment + 1]]
