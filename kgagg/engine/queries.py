"""Queries: an entity, a relation, and the side that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# what a query asks for: the tail of (entity, relation, ?), or the head of (?, relation, entity)
DIRECTIONS = ("tail", "head")
# instead of an entity: what is missing
MISSING = -1


@dataclass(frozen=True)
class Queries:
    """Queries, each with its target entities.

    Attributes
    ----------
    relation : int32[queries]
    direction : uint8[queries]
        0 for ``(entity, relation, ?)``, 1 for ``(?, relation, entity)``; see `DIRECTIONS`.
    entity : int32[queries]
    target_ptr : int64[queries + 1]
        The targets of each query.
    target : int32[targets]
        Ascending within a query.
    triple : int32[targets]
        The row of the triple from which each target comes, -1 if from none.
    """

    relation: np.ndarray
    direction: np.ndarray
    entity: np.ndarray
    target_ptr: np.ndarray
    target: np.ndarray
    triple: np.ndarray

    def __len__(self) -> int:
        return len(self.relation)

    @property
    def slots(self) -> np.ndarray:
        """``2 * relation + direction`` of each query: int64[queries]."""
        return 2 * self.relation.astype(np.int64) + self.direction

    @classmethod
    def from_triples(cls, triples: np.ndarray) -> Queries:
        """Make the tail query and the head query of each of `triples`, int32[n, 3].

        Each query is there once, with all its targets; queries are ordered by direction, relation
        and entity.
        """
        head, relation, tail = triples.astype(np.int32).T
        direction = np.repeat(np.array([0, 1], np.uint8), len(triples))
        relation = np.tile(relation, 2)
        entity, target = np.concatenate([head, tail]), np.concatenate([tail, head])
        triple = np.tile(np.arange(len(triples), dtype=np.int32), 2)
        order = np.lexsort((target, entity, relation, direction))
        columns = np.stack([direction, relation, entity])[:, order]
        new = np.any(np.diff(columns, prepend=-1, axis=1) != 0, axis=0)
        start = np.flatnonzero(new)
        return cls(
            relation[order][start],
            direction[order][start],
            entity[order][start],
            np.append(start, len(order)).astype(np.int64),
            target[order],
            triple[order],
        )

    @classmethod
    def from_patterns(cls, patterns: np.ndarray) -> Queries:
        """Make the queries of `patterns`, in their order.

        Parameters
        ----------
        patterns : int32[n, 3]
            Head, relation, tail, of which the head or the tail may be `MISSING`. A full triple
            asks for its tail, then for its head, which are the targets.
        """
        whole = (patterns != MISSING).all(axis=1)
        row = np.repeat(np.arange(len(patterns), dtype=np.int32), 1 + whole)
        head, relation, tail = patterns[row].T
        # the second query of a full triple is the one that asks for its head
        second = np.diff(row, prepend=-1) == 0
        direction = ((head == MISSING) | second).astype(np.uint8)
        target = whole[row]
        return cls(
            relation.copy(),
            direction,
            np.where(direction, tail, head),
            np.concatenate([[0], np.cumsum(target)]).astype(np.int64),
            np.where(direction, head, tail)[target],
            row[target],
        )

    @classmethod
    def without_targets(
        cls, relation: np.ndarray, direction: np.ndarray, entity: np.ndarray
    ) -> Queries:
        """Make queries without targets (see the attributes)."""
        none = np.empty(0, np.int32)
        return cls(relation, direction, entity, np.zeros(len(relation) + 1, np.int64), none, none)

    def part(self, start: int, stop: int) -> Queries:
        """Return the queries from `start` up to `stop`."""
        first, last = self.target_ptr[start], self.target_ptr[stop]
        return Queries(
            self.relation[start:stop],
            self.direction[start:stop],
            self.entity[start:stop],
            self.target_ptr[start : stop + 1] - first,
            self.target[first:last],
            self.triple[first:last],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Queries]) -> Queries:
        """Join queries, which must be distinct."""
        return cls(
            np.concatenate([part.relation for part in parts]),
            np.concatenate([part.direction for part in parts]),
            np.concatenate([part.entity for part in parts]),
            joined([part.target_ptr for part in parts]),
            np.concatenate([part.target for part in parts]),
            np.concatenate([part.triple for part in parts]),
        )


def joined(pointers: Sequence[np.ndarray]) -> np.ndarray:
    """Join pointers of which each begins at 0: int64[sum of lengths + 1]."""
    sizes = [np.diff(pointer) for pointer in pointers]
    return np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
