"""The knowledge graph: names, triples of each split, and the adjacency of the train split."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.data.memory import open_memory
from kgagg.data.triples import Lines, open_triples, split_file
from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.reading import read_triples
from kgagg.graph.vocabulary import Interner, Vocabulary
from kgagg.util.arrays import open_arrays, save_arrays
from kgagg.util.checks import checking, expect, expect_arrays, expect_within
from kgagg.util.files import writing

if TYPE_CHECKING:
    import pandas as pd

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
    labels : mapping of str to str
        What to show beside the names of entities and relations; changes no number.
    """

    entities: Vocabulary
    relations: Vocabulary
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    adjacency: Adjacency
    digest: str
    labels: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, data: str | os.PathLike[str], *, literals: str = "drop") -> Graph:
        """Read a graph from a folder, a file, or a registered dataset, which is fetched first.

        Parameters
        ----------
        data : path or str
            A folder with a file ``train`` and maybe ``valid`` and ``test``; one file, which is
            train; the name of a registered dataset; or ``pykeen:`` and the name of a dataset of
            PyKEEN, if that is installed. Files are TSV (.txt, .tsv), CSV, N-Triples
            (.nt, .nq), Turtle (.ttl) or Parquet, plain or compressed (.gz, .bz2, .xz, .zst).
        literals : str
            ``"drop"`` or ``"keep"`` (see `kgagg.data.triples.open_triples`).

        Raises
        ------
        InputError
            If a file cannot be read, naming the file, the line and what was expected.
        """
        from kgagg.data.datasets import PYKEEN, locate, pykeen_triples

        if isinstance(data, str) and data.startswith(PYKEEN):
            return cls.from_triples(*pykeen_triples(data.removeprefix(PYKEEN)))
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
    def from_triples(cls, train: Any, valid: Any = None, test: Any = None) -> Graph:
        """Make a graph of triples in memory.

        Parameters
        ----------
        train, valid, test : table, array or iterable of triples
            A table of pandas, polars, DuckDB or pyarrow, whose columns are taken by name (head,
            subject, source, ...) or else the first three; an array of shape (n, 3); an iterable of
            triples; or a ``TriplesFactory`` of PyKEEN. `kgagg.split` splits one that is not split.

        Raises
        ------
        InputError
            If it is none of these, or a name is missing.
        """
        parts = zip(SPLITS, (train, valid, test), strict=True)
        return cls._from_lines(
            {split: open_memory(part, split) for split, part in parts if part is not None}
        )

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

    def report_leaks(self, where: str | os.PathLike[str], *, refuse: bool = False) -> None:
        """Warn if triples of valid and test are in an earlier split.

        Parameters
        ----------
        where : str or path
            The data as the user named it.
        refuse : bool
            Raise InputError instead.
        """
        if leaks := self.leaks():
            if refuse:
                raise InputError(f"{where}: {leaks}")
            warnings.warn(f"{where}: {leaks} (--no-leak refuses)", stacklevel=2)

    def __repr__(self) -> str:
        splits = ", ".join(f"{len(self.split(name)):,} {name}" for name in SPLITS)
        return (
            f"Graph({len(self.entities):,} entities, {len(self.relations):,} relations; "
            f"triples: {splits})"
        )

    def _repr_html_(self) -> str:
        """Show some triples and the counts, in a notebook."""
        from kgagg.util.html import table

        rows = [
            [
                self.label(self.entities[h]),
                self.label(self.relations[r]),
                self.label(self.entities[t]),
            ]
            for h, r, t in self.train[:_SHOWN].tolist()
        ]
        return table(("head", "relation", "tail"), rows, f"the first triples of {self!r}")

    def with_labels(self, labels: Mapping[str, str] | str | os.PathLike[str]) -> Graph:
        """Return the graph with labels, which tables and explanations then show.

        Parameters
        ----------
        labels : mapping or path
            By the name of an entity or a relation; or a file (see `kgagg.data.labels.read_labels`).

        Raises
        ------
        InputError
            If no name of the graph has a label.
        """
        where = "labels"
        if isinstance(labels, str | os.PathLike):
            from kgagg.data.labels import read_labels

            where, labels = os.fspath(labels), read_labels(labels)
        if not any(name in labels for names in (self.entities, self.relations) for name in names):
            first = next(iter(labels), "")
            raise InputError(f"{where}: no label of a name in the graph; the first is of {first!r}")
        return replace(self, labels=dict(labels))

    def label(self, name: str) -> str:
        """Return the label of a name, or the name if it has none."""
        return self.labels.get(name, name)

    def labelled(self, table: pd.DataFrame) -> pd.DataFrame:
        """Add the columns ``head_label``, ``relation_label`` and ``tail_label``, if there are any.

        A name without a label is shown itself.
        """
        if self.labels:
            for name in ("head", "relation", "tail"):
                table[f"{name}_label"] = [self.label(one) for one in table[name]]
        return table

    def to_pandas(self, split: str = "train") -> pd.DataFrame:
        """Return the triples of a split by name: columns ``head``, ``relation``, ``tail``."""
        import pandas as pd

        entities = np.array(self.entities.names(), object)
        relations = np.array(self.relations.names(), object)
        head, relation, tail = self.split(split).T
        return pd.DataFrame(
            {"head": entities[head], "relation": relations[relation], "tail": entities[tail]}
        )

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write train.txt, valid.txt and test.txt into `folder`; return its path.

        Reading it gives the same graph, and the same digest if this one was split by kgagg.
        """
        for split in SPLITS:
            with writing(Path(folder) / f"{split}.txt") as file:
                for lines in self.lines(split):
                    file.write(lines)
        return Path(folder)

    def lines(self, split: str) -> Iterator[str]:
        """Yield the triples of a split as text, many lines of head, relation and tail at once."""
        entities, relations = self.entities.names(), self.relations.names()
        triples = self.split(split)
        for start in range(0, len(triples), _LINES):
            part = triples[start : start + _LINES].tolist()
            yield "".join(f"{entities[h]}\t{relations[r]}\t{entities[t]}\n" for h, r, t in part)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the binary form into `folder`, as a file named by the digest; return its path."""
        path = Path(folder) / f"{self.digest}.graph"
        arrays = {name: self.split(name) for name in SPLITS}
        for kind in ("entities", "relations"):
            names = getattr(self, kind)
            arrays |= {f"{kind}.{part}": getattr(names, part) for part in _VOCABULARY}
        for part in fields(Adjacency):
            arrays[part.name] = getattr(self.adjacency, part.name)
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
            train, valid, test = splits.values()
            return cls(entities, relations, train, valid, test, adjacency, digest)


# how many triples a notebook shows, and how many are written at once
_SHOWN, _LINES = 10, 1 << 16
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
