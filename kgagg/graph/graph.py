"""The knowledge graph: names, triples of each split, and the adjacency of the train split."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.reading import read_triples, split_file
from kgagg.graph.vocabulary import Interner, Vocabulary
from kgagg.util.arrays import open_arrays, save_arrays
from kgagg.util.checks import checking, expect, expect_arrays, expect_within

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Graph:
    """A knowledge graph with its splits; it never changes.

    Attributes
    ----------
    entities, relations : Vocabulary
        The names, numbered as they first appear in train, then valid, then test.
    train, valid, test : int32[n, 3]
        Head, relation and tail of each triple, in the order of the file.
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
    def read(cls, data: str | os.PathLike[str]) -> Graph:
        """Read a graph from a folder, or from a registered dataset, which is fetched first."""
        from kgagg.data.datasets import locate

        return cls.from_folder(locate(data))

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> Graph:
        """Read train.txt, valid.txt and test.txt, plain or compressed; the last two may be absent.

        Raises
        ------
        InputError
            If a file cannot be read, naming the file, the line and what was expected.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder, expected one with train.txt")
        entities, relations = Interner(), Interner()
        triples, digest = {}, hashlib.sha256()
        for split in SPLITS:
            path = split_file(folder, split)
            if path is None and split == "train":
                raise InputError(f"{folder}: has no train.txt (head, relation, tail, with tabs)")
            content = hashlib.sha256()
            triples[split] = np.empty((0, 3), np.int32)
            if path is not None:
                triples[split] = read_triples(path, entities, relations, content)
            digest.update(content.digest())
        if not len(triples["train"]):
            raise InputError(f"{split_file(folder, 'train')}: holds no triple")
        return cls.from_triples(
            entities.vocabulary(), relations.vocabulary(), **triples, digest=digest.hexdigest()
        )

    @classmethod
    def from_triples(
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

    def split(self, name: str) -> np.ndarray:
        """Return the triples of the split `name`, int32[n, 3]."""
        if name not in SPLITS:
            raise InputError(f"{name}: no such split, expected one of {', '.join(SPLITS)}")
        return np.asarray(getattr(self, name))

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
