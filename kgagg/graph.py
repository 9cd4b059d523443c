"""The knowledge graph: names, triples of each split, and the adjacency of the train split."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from kgagg import _triples
from kgagg.arrays import open_arrays, save_arrays
from kgagg.errors import InputError
from kgagg.files import COMPRESSIONS, line_blocks
from kgagg.vocabulary import Interner, Vocabulary

SPLITS = ("train", "valid", "test")


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
            If there are more than the 32 bits of a pointer can tell apart: what is walked all the
            time has to be small.
        """
        if 2 * len(triples) > np.iinfo(np.int32).max:
            raise InputError(f"{len(triples):,} triples: expected fewer than 2**30")
        steps = np.empty((3, 2 * len(triples)), np.int32)
        starts = np.empty(max(entities, 2 * relations) + 1, np.int64)
        segments, edges = _triples.sort_steps(
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
        _triples.index_steps(steps, *arrays.values(), starts)
        return cls(**arrays)

    @property
    def facts(self) -> int:
        """How many distinct facts there are."""
        return len(self.neighbours) // 2

    def contains(self, triples: np.ndarray) -> np.ndarray:
        """Tell for each of `triples`, int32[n, 3], whether it is a fact: bool[n]."""
        found = np.empty(len(triples), np.bool_)
        _triples.contains(
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
        from kgagg.datasets import locate

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
            path = _split_file(folder, split)
            if path is None and split == "train":
                raise InputError(f"{folder}: has no train.txt (head, relation, tail, with tabs)")
            content = hashlib.sha256()
            triples[split] = np.empty((0, 3), np.int32)
            if path is not None:
                triples[split] = _read_triples(path, entities, relations, content)
            digest.update(content.digest())
        if not len(triples["train"]):
            raise InputError(f"{_split_file(folder, 'train')}: holds no triple")
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
        """Map the binary form; nothing is read before it is used."""
        digest, arrays = open_arrays(Path(path), "graph")
        entities, relations = (
            Vocabulary(*(arrays.pop(f"{kind}.{part}") for part in _VOCABULARY))
            for kind in ("entities", "relations")
        )
        train, valid, test = (arrays.pop(name) for name in SPLITS)
        return cls(entities, relations, train, valid, test, Adjacency(**arrays), digest)


_VOCABULARY = ("blob", "offsets", "table")


def _split_file(folder: Path, split: str) -> Path | None:
    found = [
        path for ending in ("", *COMPRESSIONS) if (path := folder / f"{split}.txt{ending}").exists()
    ]
    if len(found) > 1:
        raise InputError(f"{folder}: has both {found[0].name} and {found[1].name}, expected one")
    return found[0] if found else None


def _read_triples(
    path: Path, entities: Interner, relations: Interner, content: hashlib._Hash
) -> np.ndarray:
    """Read the triples of one file, extending the tables of names; `content` takes its digest."""
    state = np.zeros(6, np.int64)
    state[_triples.LINE] = 1
    state[_triples.ENTITIES], state[_triples.RELATIONS] = entities.count, relations.count
    triples, cuts = np.empty((1 << 12, 3), np.int32), np.empty(4, np.int64)
    for text in line_blocks(path):
        content.update(text.replace(b"\r\n", b"\n"))
        _check_utf8(path, text, int(state[_triples.LINE]))
        buffer = np.frombuffer(bytearray(text), np.uint8)
        state[_triples.POSITION] = 0
        while True:
            status = _triples.read_triples(
                buffer,
                state,
                entities.blob,
                entities.offsets,
                entities.table,
                relations.blob,
                relations.offsets,
                relations.table,
                triples,
                cuts,
            )
            entities.count = int(state[_triples.ENTITIES])
            relations.count = int(state[_triples.RELATIONS])
            if status != _triples.FULL:
                break
            start = state[_triples.POSITION]
            line = text.index(b"\n", start) - start
            entities.reserve(2, line)
            relations.reserve(1, line)
            if state[_triples.ROWS] == len(triples):
                triples = np.concatenate([triples, np.empty_like(triples)])
        if status != _triples.DONE:
            raise InputError(f"{path}:{state[_triples.LINE]}: {_PROBLEMS[status]}")
    return triples[: state[_triples.ROWS]].copy()


_PROBLEMS = {
    _triples.COLUMNS: "expected three columns separated by tabs: head, relation, tail",
    _triples.EMPTY_NAME: "an empty name, expected head, relation and tail",
}


def _check_utf8(path: Path, text: bytes, line: int) -> None:
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line += text.count(b"\n", 0, error.start)
        raise InputError(f"{path}:{line}: not UTF-8") from None
