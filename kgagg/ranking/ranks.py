"""Filtered ranks of targets, and their file."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgagg.engine.queries import DIRECTIONS
from kgagg.errors import InputError
from kgagg.graph.vocabulary import Vocabulary
from kgagg.util.checks import checking, expect, expect_within
from kgagg.util.parquet import open_parquet, parquet_writer, reading_parquet

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = ("head", "relation", "tail", "direction", "strategy")


_COLUMNS = ("triple", *_NAMES, "optimistic", "pessimistic")


@dataclass(frozen=True)
class Ranks:
    """Filtered ranks of the targets of a split, in both directions, for some strategies.

    Attributes
    ----------
    entities, relations : Vocabulary
        Names of the numbers in `triples`.
    triples : int32[T, 3]
        Head, relation, tail.
    strategies : tuple of str, length S
    optimistic, pessimistic : int32[S, T, 2]
        Ranks from 1 for the tail query (last index 0) and the head query (1); 0 means that the
        target is not among the candidates. Ties resolved by an order have equal ranks in both.
    """

    entities: Vocabulary
    relations: Vocabulary
    triples: np.ndarray
    strategies: tuple[str, ...]
    optimistic: np.ndarray
    pessimistic: np.ndarray

    def joined(self, *others: Ranks) -> Ranks:
        """Return these ranks with those of `others`: more strategies for the same triples."""
        parts = (self, *others)
        return dataclasses.replace(
            self,
            strategies=tuple(name for part in parts for name in part.strategies),
            optimistic=np.concatenate([part.optimistic for part in parts]),
            pessimistic=np.concatenate([part.pessimistic for part in parts]),
        )

    def only(self, strategies: Sequence[str]) -> Ranks:
        """Return the ranks of these strategies, in this order."""
        rows = [self.strategies.index(name) for name in strategies]
        return dataclasses.replace(
            self,
            strategies=tuple(strategies),
            optimistic=self.optimistic[rows],
            pessimistic=self.pessimistic[rows],
        )

    def digests(self) -> list[str]:
        """Return a digest of the ranks of each strategy: equal if they are, on any machine."""
        return [
            hashlib.sha256(np.stack(both).astype("<i4").tobytes()).hexdigest()
            for both in zip(self.optimistic, self.pessimistic, strict=True)
        ]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a parquet file: one row for each triple, direction and strategy.

        Columns are ``triple``, the row of `triples`; the names ``head``, ``relation``, ``tail``;
        ``direction`` ("tail" asks for the tail); ``strategy``; and the ranks ``optimistic`` and
        ``pessimistic``, int32, null for no rank.
        """
        import pyarrow as pa

        strategy, triple, direction = (
            index.ravel() for index in np.indices(self.optimistic.shape, np.int32)
        )
        entities, relations = self.entities.names(), self.relations.names()
        head, relation, tail = self.triples.T
        names = (entities, relations, entities, DIRECTIONS, self.strategies)
        numbers = (head[triple], relation[triple], tail[triple], direction, strategy)
        columns = [
            pa.array(triple),
            *(
                pa.DictionaryArray.from_arrays(pa.array(n), pa.array(text, pa.string()))
                for n, text in zip(numbers, names, strict=True)
            ),
            *(
                pa.array(rank.ravel(), mask=rank.ravel() == 0)
                for rank in (self.optimistic, self.pessimistic)
            ),
        ]
        table = pa.table(columns, _COLUMNS)
        with parquet_writer(path, table.schema, compression="zstd") as file:
            file.write_table(table)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Ranks:
        """Read a file that `write` wrote; the rows may be in any order.

        Raises
        ------
        InputError
            If it is not such a file, or a row is missing or repeated.
        """
        file = open_parquet(path, "ranks")
        if missing := [name for name in _COLUMNS if name not in file.schema_arrow.names]:
            raise InputError(f"{path}: expected a parquet file of ranks: has no {missing[0]}")
        with reading_parquet(path, "ranks"):
            table = file.read(columns=list(_COLUMNS))
        with checking(path):
            return cls._from_table(table, path)

    @classmethod
    def _from_table(cls, table: pa.Table, path: str | os.PathLike[str]) -> Ranks:
        def encoded(column: str) -> pa.DictionaryArray:
            return table[column].dictionary_encode().combine_chunks()

        def numbered(column: str, names: Vocabulary) -> np.ndarray:
            values = encoded(column)
            ids = np.array([names.id(name) for name in values.dictionary.to_pylist()], np.int32)
            return np.asarray(ids[values.indices])

        def distinct(*columns: str) -> Vocabulary:
            chunks = (encoded(column).dictionary.to_pylist() for column in columns)
            return Vocabulary.from_names(itertools.chain.from_iterable(chunks))

        for column in (*_NAMES, "triple"):
            expect(not table[column].null_count, f"{column} has nulls")
        entities, relations = distinct("head", "tail"), distinct("relation")
        strategies, directions = distinct("strategy"), Vocabulary.from_names(DIRECTIONS)
        triple = table["triple"].to_numpy()
        expect_within("triple", triple, 0, len(triple) - 1)
        shape = (len(strategies), int(triple.max(initial=-1)) + 1, 2)
        index = (numbered("strategy", strategies), triple, numbered("direction", directions))
        expect_within("direction", index[2], 0, 1)
        seen = np.zeros(shape, np.int32)
        np.add.at(seen, index, 1)
        if len(triple) and not (seen == 1).all():
            raise InputError(f"{path}: expected one row for each triple, direction and strategy")
        triples = np.empty((shape[1], 3), np.int32)
        for i, (column, names) in enumerate(
            zip(_NAMES, (entities, relations, entities), strict=False)
        ):
            triples[triple, i] = numbered(column, names)
        ranks = np.empty((2, *shape), np.int32)
        for rank, column in zip(ranks, _COLUMNS[-2:], strict=True):
            rank[index] = table[column].fill_null(0)
        expect_within("optimistic", ranks[0], 0, np.inf)
        expect((ranks[0] <= ranks[1]).all(), "pessimistic is less than optimistic")
        return cls(entities, relations, triples, tuple(strategies), *ranks)
