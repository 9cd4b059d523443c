"""Queries, and what rules predict for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from kgagg.vocabulary import Vocabulary


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

    @classmethod
    def concatenate(cls, parts: Sequence[Queries]) -> Queries:
        """Join queries, which must be distinct."""
        return cls(
            np.concatenate([part.relation for part in parts]),
            np.concatenate([part.direction for part in parts]),
            np.concatenate([part.entity for part in parts]),
            _joined([part.target_ptr for part in parts]),
            np.concatenate([part.target for part in parts]),
            np.concatenate([part.triple for part in parts]),
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

    @property
    def nbytes(self) -> int:
        """How many bytes the candidates and their rules take."""
        own = (self.query_ptr, self.candidate, self.count, self.strength, self.level)
        return sum(array.nbytes for array in (*own, self.rule_ptr, self.rules))

    def part(self, start: int, stop: int) -> Firings:
        """Return the firings for the queries from `start` up to `stop`."""
        first, last = self.query_ptr[start], self.query_ptr[stop]
        first_rule, last_rule = self.rule_ptr[first], self.rule_ptr[last]
        return dataclasses.replace(
            self,
            queries=self.queries.part(start, stop),
            query_ptr=self.query_ptr[start : stop + 1] - first,
            candidate=self.candidate[first:last],
            count=self.count[first:last],
            strength=self.strength[first:last],
            level=self.level[first:last],
            rule_ptr=self.rule_ptr[first : last + 1] - first_rule,
            rules=self.rules[first_rule:last_rule],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Firings]) -> Firings:
        """Join the firings of one rule set for several parts of the queries; at least one part."""
        return dataclasses.replace(
            parts[0],
            queries=Queries.concatenate([part.queries for part in parts]),
            query_ptr=_joined([part.query_ptr for part in parts]),
            candidate=np.concatenate([part.candidate for part in parts]),
            count=np.concatenate([part.count for part in parts]),
            strength=np.concatenate([part.strength for part in parts]),
            level=np.concatenate([part.level for part in parts]),
            rule_ptr=_joined([part.rule_ptr for part in parts]),
            rules=np.concatenate([part.rules for part in parts]),
        )

    def to_pandas(self, entities: Vocabulary, relations: Vocabulary) -> pd.DataFrame:
        """Return a table with a row for each query and candidate, in the order of MAX+.

        Columns are ``direction`` ("tail" asks for the tail), ``relation``, ``entity`` and
        ``candidate`` by name, ``target`` (whether it is looked for), ``count``, ``noisy_or`` (over
        all rules), ``level`` and ``rules``, the ranks of the best rules.
        """
        import pandas as pd

        from kgagg.evaluation import DIRECTIONS

        size = np.diff(self.query_ptr)
        query = np.repeat(np.arange(len(size)), size)
        queries = self.queries
        width = np.int64(len(entities))
        wanted = np.repeat(np.arange(len(size)), np.diff(queries.target_ptr)) * width
        names = entities.names()

        def named(codes: np.ndarray, categories: Sequence[str]) -> pd.Categorical[str]:
            return pd.Categorical.from_codes(codes, pd.Index(categories))

        return pd.DataFrame(
            {
                "direction": named(queries.direction[query], DIRECTIONS),
                "relation": named(queries.relation[query], relations.names()),
                "entity": named(queries.entity[query], names),
                "candidate": named(self.candidate, names),
                "target": np.isin(query * width + self.candidate, wanted + queries.target),
                "count": self.count,
                "noisy_or": -np.expm1(-self.strength),
                "level": self.level,
                "rules": np.split(self.rules, self.rule_ptr[1:-1]) if len(self) else [],
            }
        )


def _joined(pointers: Sequence[np.ndarray]) -> np.ndarray:
    """Join pointers of which each begins at 0."""
    sizes = [np.diff(pointer) for pointer in pointers]
    return np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
