"""Queries, and what rules predict for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Queries:
    """Distinct queries, each with the answers that are looked for.

    Attributes
    ----------
    relation : int32[queries]
    direction : uint8[queries]
        0 for ``(entity, relation, ?)``, 1 for ``(?, relation, entity)``.
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

    @classmethod
    def from_triples(cls, triples: np.ndarray) -> Queries:
        """Ask for the tail and for the head of each of `triples`, int32[n, 3].

        Queries are ordered by direction, relation and entity.
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


@dataclass(frozen=True)
class Firings:
    """The candidates of queries, and the rules that predict them.

    Rules are named by their rank in the rule set. Candidates stand in the order of MAX+.

    Attributes
    ----------
    queries : Queries
    query_ptr : int64[queries + 1]
        The candidates of each query.
    candidate : int32[candidates]
    count : int32[candidates]
        How many rules predict the candidate.
    strength : float64[candidates]
        The sum of ``-log(1 - confidence)`` over all these rules: noisy-or is ``1 - exp(-s)``.
    level : int32[candidates]
        The place in the order of MAX+, from 0; equal for candidates that it does not tell apart.
    rule_ptr : int64[candidates + 1]
        The kept rules of each candidate.
    rules : int32[kept]
        The best rules of a candidate, ascending by rank.
    confidence : float64[all rules]
        The confidence of every rule of the rule set, by rank.
    weight : float64[all rules]
        ``-log(1 - confidence)`` of every rule.
    """

    queries: Queries
    query_ptr: np.ndarray
    candidate: np.ndarray
    count: np.ndarray
    strength: np.ndarray
    level: np.ndarray
    rule_ptr: np.ndarray
    rules: np.ndarray
    confidence: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.candidate)
