"""Scores of triples by another model, as one more family of features of `learned`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.strategies.fitting import inverse
from kgagg.util.checks import expect, expect_arrays, expect_ascending, expect_within
from kgagg.util.files import line_blocks


@dataclass(frozen=True)
class Scores:
    """Scores of triples by another model.

    Attributes
    ----------
    key : int64[n]
        Ascending: ``(relation * entities + head) * entities + tail``.
    score : float32[n]
    entities : int
    """

    key: np.ndarray
    score: np.ndarray
    entities: int

    @classmethod
    def of(cls, triples: np.ndarray, score: np.ndarray, entities: int) -> Self:
        """Index triples, int64[n, 3], by their numbers; of one that is there twice the best."""
        head, relation, tail = triples.astype(np.int64).T
        key = (relation * entities + head) * entities + tail
        order = np.lexsort((-score, key))
        kept = order[np.diff(key[order], prepend=-1) > 0]
        return cls(key[kept], score[kept].astype(np.float32), entities)

    @classmethod
    def read(cls, path: str | os.PathLike[str], graph: Graph) -> Self:
        """Read lines of head, relation, tail and score, with tabs between them.

        Triples of names that the graph does not have are left out.

        Raises
        ------
        InputError
            If a line is not as expected, or no triple has the names of the graph.
        """
        triples, scores = [], []
        lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
        entities, relations = (
            {name: i for i, name in enumerate(names.names())}
            for names in (graph.entities, graph.relations)
        )
        for number, line in enumerate(lines, start=1):
            words = line.decode(errors="replace").rstrip("\r").split("\t")
            try:
                head, relation, tail, text = words
                score = float(text)
            except ValueError:
                score = np.nan
            if not np.isfinite(score):
                raise InputError(
                    f"{path}:{number}: expected head, relation, tail and a finite score, with tabs"
                )
            found = (entities.get(head), relations.get(relation), entities.get(tail))
            if None not in found:
                triples.append(found)
                scores.append(score)
        if not triples:
            raise InputError(f"{path}: has no triple of the names of this graph")
        return cls.of(np.array(triples, np.int64), np.array(scores), len(entities))

    @property
    def least(self) -> float:
        """The lowest score there is."""
        return float(self.score.min())

    def __call__(self, firings: Firings, row: np.ndarray) -> np.ndarray:
        """Return the scores of candidates, NaN for none: float32[n].

        Parameters
        ----------
        firings : Firings
        row : int64[n]
            The candidates.
        """
        queries = firings.queries
        query = np.searchsorted(firings.query_ptr, row, side="right") - 1
        entity, candidate = queries.entity[query], firings.candidate[row]
        backward = queries.direction[query] == 1
        head, tail = np.where(backward, [candidate, entity], [entity, candidate]).astype(np.int64)
        key = (queries.relation[query] * np.int64(self.entities) + head) * self.entities + tail
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[place] == key, self.score[place], np.float32(np.nan))

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return all of it, as `restore` takes it."""
        return {"key": self.key, "score": self.score, "entities": np.array([self.entities])}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Make scores from what `arrays` gave."""
        expect_arrays(dict(arrays), {"entities": (np.int64,)}, 1)
        return cls(arrays["key"], arrays["score"], int(arrays["entities"][0]))

    def check(self, relations: int, entities: int) -> None:
        """Check that there is a score for each triple, and that all numbers are in range."""
        expect(self.entities == entities, "has other entities than names")
        expect(len(self.key) > 0, "has no scores")
        expect_arrays(vars(self), {"key": (np.int64,), "score": (np.float32,)}, len(self.key))
        expect_within("key", self.key, 0, relations * entities * entities - 1)
        expect_ascending("key", self.key, np.array([0, len(self.key)]))

    def renumbered(self, relations: np.ndarray, entities: np.ndarray, count: int) -> Self:
        """Return them for other numbers (see `Strategy.renumbered`).

        Parameters
        ----------
        relations, entities : int64[n]
        count : int
            How many relations there were.
        """
        rest, tail = np.divmod(self.key, self.entities)
        relation, head = np.divmod(rest, self.entities)
        numbers = inverse(entities, self.entities)
        triples = np.stack([numbers[head], inverse(relations, count)[relation], numbers[tail]], 1)
        kept = (triples >= 0).all(axis=1)
        if not kept.any():
            # none is left, but features keep their columns
            return dataclasses.replace(
                self,
                key=np.zeros(1, np.int64),
                score=self.score[:1],
                entities=len(entities),
            )
        return self.of(triples[kept], self.score[kept], len(entities))
