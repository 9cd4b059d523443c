"""The knowledge graph: names, triples of each split, and the adjacency of the train split."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from kgagg.data.triples import Lines, open_triples, split_file
from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.reading import read_triples
from kgagg.graph.vocabulary import Interner, Vocabulary
from kgagg.util.arrays import open_arrays, save_arrays
from kgagg.util.checks import checking, expect, expect_arrays, expect_within

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Graph:
    """A knowledge graph with its splits; it never changes.

    Nothing depends on the order of the lines it was read from: names and triples are sorted.

    Attributes
    ----------
    entities, relations : Vocabulary
        The names, numbered in the order of their bytes: first those of train, then what only valid
        adds, then what only test adds.
    train, valid, test : int32[n, 3]
        Head, relation and tail of each triple, sorted.
    adjacency : Adjacency
        The facts of the train split.
    digest : str
        sha256 over the content of the three splits (with LF line ends).
    """

    entities: Vocabulary
    relations: Vocabulary
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    adjacency: Adjacency
    digest: str

    @classmethod
    def read(cls, data: str | os.PathLike[str], *, literals: str = "drop") -> Graph:
        """Read a graph from a folder, a file, or a registered dataset, which is fetched first.

        Parameters
        ----------
        data : path or str
            A folder with a file ``train`` and maybe ``valid`` and ``test``; one file, which is
            train; or the name of a registered dataset. Files are TSV (.txt, .tsv), CSV, N-Triples
            (.nt, .nq), Turtle (.ttl) or Parquet, plain or compressed (.gz, .bz2, .xz, .zst).
        literals : str
            ``"drop"`` or ``"keep"`` (see `kgagg.data.triples.open_triples`).

        Raises
        ------
        InputError
            If a file cannot be read, naming the file, the line and what was expected.
        """
        from kgagg.data.datasets import locate

        path = locate(data)
        return (
            cls.from_file(path, literals=literals)
            if path.is_file()
            else cls.from_folder(path, literals=literals)
        )

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], *, literals: str = "drop") -> Graph:
        """Read a folder (see `read`)."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder, expected one with train.txt")
        files = {split: split_file(folder, split) for split in SPLITS}
        if files["train"] is None:
            raise InputError(f"{folder}: has no train.txt (head, relation, tail, with tabs)")
        return cls._from_lines(
            {split: open_triples(path, literals) for split, path in files.items() if path}
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, literals: str = "drop") -> Graph:
        """Read one file (see `read`); valid and test are empty."""
        return cls._from_lines({"train": open_triples(path, literals)})

    @classmethod
    def _from_lines(cls, splits: Mapping[str, Lines]) -> Graph:
        """Read the lines of each split, and sort names and triples."""
        entities, relations = Interner(), Interner()
        triples, digest = {}, hashlib.sha256()
        cuts: dict[str, list[int]] = {"entities": [], "relations": []}
        for split in SPLITS:
            content = hashlib.sha256()
            triples[split] = np.empty((0, 3), np.int32)
            if split in splits:
                triples[split] = read_triples(splits[split], entities, relations, content)
            digest.update(content.digest())
            cuts["entities"].append(entities.count)
            cuts["relations"].append(relations.count)
        if not len(triples["train"]):
            raise InputError(f"{splits['train'].where}: holds no triple")
        names, number = entities.vocabulary().sorted(cuts["entities"])
        kinds, kind = relations.vocabulary().sorted(cuts["relations"])
        for split, (head, relation, tail) in ((name, one.T) for name, one in triples.items()):
            columns = (number[head], kind[relation], number[tail])
            triples[split] = _sorted_rows(*columns, len(names), len(kinds))
        return cls.indexed(names, kinds, **triples, digest=digest.hexdigest())

    @classmethod
    def indexed(
        cls,
        entities: Vocabulary,
        relations: Vocabulary,
        train: np.ndarray,
        valid: np.ndarray,
        test: np.ndarray,
        digest: str,
    ) -> Graph:
        """Index the train split of a graph that is in memory (see the attributes)."""
        adjacency = Adjacency.build(train, len(entities), len(relations))
        return cls(entities, relations, train, valid, test, adjacency, digest)

    @cached_property
    def facts(self) -> Adjacency:
        """The facts of all splits."""
        triples = np.concatenate([self.split(name) for name in SPLITS])
        return Adjacency.build(triples, len(self.entities), len(self.relations))

    def split(self, name: str) -> np.ndarray:
        """Return the triples of the split `name`, int32[n, 3]."""
        if name not in SPLITS:
            raise InputError(f"{name}: no such split, expected one of {', '.join(SPLITS)}")
        return np.asarray(getattr(self, name))

    def of_type(self, relation: str, *types: str) -> list[str]:
        """Return the entities of some types: the heads of `relation` to one of them in train.

        Raises
        ------
        InputError
            If there is no such relation or type, or no entity has it.
        """
        number = self.relations.require(relation, "relation")
        wanted = [self.entities.require(name, "type") for name in types]
        facts = self.train[self.train[:, 1] == number]
        found = np.unique(facts[np.isin(facts[:, 2], wanted), 0])
        if not len(found):
            raise InputError(f"no entity has the type {' or '.join(types)} by {relation}")
        return [self.entities[entity] for entity in found.tolist()]

    @cached_property
    def overlaps(self) -> dict[str, int]:
        """Count the triples that leak: twice in one split, or in more than one.

        Keys are ``"train"``, ``"valid"``, ``"test"`` (how many lines repeat an earlier one) and
        ``"train & valid"``, ``"train & test"``, ``"valid & test"`` (distinct shared triples).
        """
        size = len(self.entities), len(self.relations)
        unique = {name: np.unique(self.split(name), axis=0) for name in ("valid", "test")}
        valid = Adjacency.build(unique["valid"], *size)
        return {
            "train": len(self.train) - self.adjacency.facts,
            "valid": len(self.valid) - len(unique["valid"]),
            "test": len(self.test) - len(unique["test"]),
            "train & valid": int(self.adjacency.contains(unique["valid"]).sum()),
            "train & test": int(self.adjacency.contains(unique["test"]).sum()),
            "valid & test": int(valid.contains(unique["test"]).sum()),
        }

    def leaks(self) -> str:
        """Say how many triples of valid and test are in an earlier split; empty if none is."""
        pairs = (("valid", "train"), ("test", "train"), ("test", "valid"))
        found = ((self.overlaps[f"{early} & {late}"], late, early) for late, early in pairs)
        return ", ".join(
            f"{count:,} triples of {late} are in {early}" for count, late, early in found if count
        )

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the binary form into `folder`, as a file named by the digest; return its path."""
        path = Path(folder) / f"{self.digest}.graph"
        arrays = {name: self.split(name) for name in SPLITS}
        for kind in ("entities", "relations"):
            names = getattr(self, kind)
            arrays |= {f"{kind}.{part}": getattr(names, part) for part in _VOCABULARY}
        for field in fields(Adjacency):
            arrays[field.name] = getattr(self.adjacency, field.name)
        save_arrays(path, "graph", self.digest, arrays)
        return path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Graph:
        """Map the binary form, and check it.

        Raises
        ------
        InputError
            If it is no such file, or damaged.
        """
        digest, arrays = open_arrays(Path(path), "graph")
        with checking(path):
            expect(isinstance(digest, str), "the digest is no text")
            entities, relations = (
                Vocabulary.checked(arrays, kind) for kind in ("entities", "relations")
            )
            splits = {name: arrays.pop(name) for name in SPLITS}
            expect_arrays(splits, dict.fromkeys(SPLITS, (np.int32,)), -1, 3)
            for name, triples in splits.items():
                expect_within(name, triples[:, 1], 0, len(relations) - 1)
                expect_within(name, triples[:, ::2], 0, len(entities) - 1)
            adjacency = Adjacency.checked(arrays, len(entities), len(relations))
            return cls(entities, relations, **splits, adjacency=adjacency, digest=digest)


_VOCABULARY = ("blob", "offsets", "table")


def _sorted_rows(
    head: np.ndarray, relation: np.ndarray, tail: np.ndarray, entities: int, relations: int
) -> np.ndarray:
    """Return triples in order: int32[n, 3]."""
    if entities * relations * entities < 1 << 63:
        # as single numbers, which are sorted much faster
        key = np.sort((head * relations + relation) * entities + tail)
        key, tail = np.divmod(key, entities)
        head, relation = np.divmod(key, relations)
    else:
        order = np.lexsort((tail, relation, head))
        head, relation, tail = head[order], relation[order], tail[order]
    return np.stack([head, relation, tail], axis=1).astype(np.int32)
