"""Firings: the candidates of queries, and the rules that predict them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kgagg.engine.queries import DIRECTIONS, Queries, joined
from kgagg.graph.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd


class Names(NamedTuple):
    """What the numbers in firings stand for.

    Attributes
    ----------
    entities, relations : Vocabulary
    rules : str
        The digest of the rule set, of which rules are named by rank.
    rule_count : int
        How many rules it has.
    """

    entities: Vocabulary
    relations: Vocabulary
    rules: str
    rule_count: int


@dataclass(frozen=True)
class Firings:
    """The candidates of queries, and the rules that predict them.

    Rules are named by their rank in the rule set. Candidates are in the order of MAX+.

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
        The rank in the order of MAX+, from 0; equal for candidates that MAX+ does not distinguish.
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
            query_ptr=joined([part.query_ptr for part in parts]),
            candidate=np.concatenate([part.candidate for part in parts]),
            count=np.concatenate([part.count for part in parts]),
            strength=np.concatenate([part.strength for part in parts]),
            level=np.concatenate([part.level for part in parts]),
            rule_ptr=joined([part.rule_ptr for part in parts]),
            rules=np.concatenate([part.rules for part in parts]),
        )

    def to_pandas(self, entities: Vocabulary, relations: Vocabulary) -> pd.DataFrame:
        """Return a table with a row for each query and candidate, in the order of MAX+.

        Columns are ``direction`` ("tail" asks for the tail), ``relation``, ``entity`` and
        ``candidate`` by name, ``target`` (whether it is a target), ``count``, ``noisy_or`` (over
        all rules), ``level`` and ``rules``, the ranks of the best rules.
        """
        import pandas as pd

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
