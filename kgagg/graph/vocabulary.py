"""Names and their numbers, as flat arrays that kernels can search and files can map."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kgagg.errors import InputError, nearest
from kgagg.graph import interning
from kgagg.util.checks import expect, expect_arrays, expect_text, expect_within


class Interner:
    """A table of names that grows while a file is read.

    Attributes
    ----------
    blob : uint8[bytes]
        The names one after the other, with room to spare.
    offsets : int64[names + 1]
        Where each name starts in `blob`, with room to spare.
    table : int32[2**k]
        Open-addressing hash table of identifiers, at most half full.
    count : int
        How many names there are.
    """

    def __init__(self) -> None:
        self.blob = np.empty(1 << 12, np.uint8)
        self.offsets = np.zeros((1 << 8) + 1, np.int64)
        self.table = np.full(1 << 9, -1, np.int32)
        self.count = 0

    def reserve(self, names: int, size: int) -> None:
        """Make room for `names` more names of `size` more bytes together."""
        used = int(self.offsets[self.count])
        if used + size > len(self.blob):
            self.blob = _grown(self.blob, used, used + size)
        if self.count + names >= len(self.offsets):
            self.offsets = _grown(self.offsets, self.count + 1, self.count + names + 1)
        if 2 * (self.count + names) > len(self.table):
            self.table = free_table(2 * (self.count + names))
            interning.rebuild(self.blob, self.offsets, self.count, self.table)

    def add(self, name: str) -> int:
        """Return the identifier of `name`, a new one if it was not there."""
        data = np.frombuffer(name.encode(), np.uint8)
        self.reserve(1, len(data))
        found = int(interning.intern_name(self.blob, self.offsets, self.table, self.count, data))
        self.count = max(self.count, found + 1)
        return found

    def vocabulary(self) -> Vocabulary:
        """Return the names so far, without the room to spare."""
        used = int(self.offsets[self.count])
        return Vocabulary(
            self.blob[:used].copy(), self.offsets[: self.count + 1].copy(), self.table
        )


def free_table(entries: int) -> np.ndarray:
    """Return an empty hash table (see `kgagg.graph.interning`) with room for twice `entries`."""
    return np.full(1 << int(max(2 * entries - 1, 0)).bit_length(), -1, np.int32)


def _grown(array: np.ndarray, used: int, needed: int) -> np.ndarray:
    larger = np.empty(max(needed, len(array) + len(array) // 2), array.dtype)
    larger[:used] = array[:used]
    return larger


class Vocabulary:
    """Distinct names, numbered from 0.

    Parameters
    ----------
    blob : uint8[bytes]
        The names in UTF-8, one after the other.
    offsets : int64[names + 1]
        Where each name starts in `blob`.
    table : int32[2**k]
        Open-addressing hash table of identifiers (see `kgagg.graph.interning`).
    """

    def __init__(self, blob: np.ndarray, offsets: np.ndarray, table: np.ndarray) -> None:
        self.blob, self.offsets, self.table = blob, offsets, table

    @classmethod
    def from_names(cls, names: Iterable[str]) -> Vocabulary:
        """Give `names` numbers in order; a name that comes again keeps its first one."""
        interner = Interner()
        for name in names:
            interner.add(name)
        return interner.vocabulary()

    @classmethod
    def from_arrays(cls, blob: np.ndarray, offsets: np.ndarray) -> Vocabulary:
        """Index distinct names (see the parameters)."""
        count = len(offsets) - 1
        table = free_table(2 * max(count, 1))
        interning.rebuild(blob, offsets, count, table)
        return cls(blob, offsets, table)

    @classmethod
    def checked(cls, arrays: dict[str, np.ndarray], kind: str) -> Vocabulary:
        """Take a vocabulary out of the arrays of a file, and check it.

        Parameters
        ----------
        arrays : dict of str to array
            It has ``kind.blob``, ``kind.offsets`` and maybe ``kind.table``, which are removed.
        kind : str
            ``"entities"`` or ``"relations"``.

        Raises
        ------
        KeyError, ValueError
            If there is none, or a search could leave the arrays (see `kgagg.util.checks`).
        """
        blob, offsets = arrays.pop(f"{kind}.blob"), arrays.pop(f"{kind}.offsets")
        parts = {"blob": blob, "offsets": offsets}
        expect_arrays(parts, {"blob": (np.uint8,), "offsets": (np.int64,)}, -1)
        expect_text(kind, blob, offsets)
        table = arrays.pop(f"{kind}.table", None)
        if table is None:
            return cls.from_arrays(blob, offsets)
        expect_arrays({"table": table}, {"table": (np.int32,)}, -1)
        expect_within(f"the table of {kind}", table, -1, len(offsets) - 2)
        # a search goes on until it finds a free place
        free = len(table) & (len(table) - 1) == 0 and bool((table < 0).any())
        expect(free, f"the table of {kind} is full")
        return cls(blob, offsets, table)

    def sorted(self, cuts: Sequence[int]) -> tuple[Vocabulary, np.ndarray]:
        """Return the same names in the order of their bytes, part by part.

        Parameters
        ----------
        cuts : sequence of int
            Where parts end; the names of a part come before all names of the next.

        Returns
        -------
        vocabulary : Vocabulary
        number : int64[names]
            The new number of each old one.
        """
        number = _sorted_numbers(self.blob, self.offsets, cuts)
        old = np.empty_like(number)
        old[number] = np.arange(len(number))
        size = np.diff(self.offsets)[old]
        offsets = np.concatenate([[0], np.cumsum(size)])
        byte = np.arange(offsets[-1]) + np.repeat(self.offsets[old] - offsets[:-1], size)
        # a name is where its hash says, whatever its number
        table = np.append(number, -1)[self.table].astype(np.int32)
        return Vocabulary(self.blob[byte], offsets, table), number

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, identifier: int) -> str:
        if not 0 <= identifier < len(self):
            raise IndexError(identifier)
        first, last = self.offsets[identifier : identifier + 2]
        return self.blob[first:last].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: str) -> bool:
        return self.id(name) >= 0

    def id(self, name: str) -> int:
        """Return the identifier of `name`, or -1."""
        data = np.frombuffer(name.encode(), np.uint8)
        return int(interning.find_name(self.blob, self.offsets, self.table, data))

    def require(self, name: str, kind: str) -> int:
        """Return the identifier of `name`.

        Raises
        ------
        InputError
            If there is none, with the nearest names; `kind` says what it names.
        """
        found = self.id(name)
        if found < 0:
            raise InputError(f"unknown {kind} {name!r}{self.nearest(name)}")
        return found

    def numbers_in(self, other: Vocabulary) -> np.ndarray:
        """Return the identifier that each name has in `other`, -1 for none: int32[names]."""
        result = np.empty(len(self), np.int32)
        names = (self.blob, self.offsets, other.blob, other.offsets, other.table)
        interning.translate(*names, result)
        return result

    def same_as(self, other: Vocabulary) -> bool:
        """Return whether `other` has the same names with the same identifiers."""
        return all(
            np.array_equal(getattr(self, part), getattr(other, part))
            for part in ("offsets", "blob")
        )

    def names(self) -> list[str]:
        """Return all names by identifier."""
        data = self.blob.tobytes()
        bounds = self.offsets.tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(bounds)]

    def nearest(self, name: str) -> str:
        """Suggest the names nearest to `name` (see `kgagg.errors.nearest`)."""
        return nearest(name, self.names())


def _sorted_numbers(blob: np.ndarray, offsets: np.ndarray, cuts: Sequence[int]) -> np.ndarray:
    """Return which number each name has by part and bytes: int64[names]; see `Vocabulary.sorted`.

    Names are compared eight bytes at a time, and only as long as they are equal to another.
    """
    size = np.diff(offsets)
    first = np.concatenate([[0], cuts]).astype(np.int64)
    # where the names begin that are equal so far
    number = np.repeat(first[:-1], np.diff(first))
    open_ = np.arange(len(size))
    at = 0
    while len(open_):
        last = at >= size[open_].max()
        # names that differ in nothing but NUL bytes at the end differ in length
        word = size[open_].astype(np.uint64) if last else _words(blob, offsets, open_, at)
        order = np.lexsort((word, number[open_]))
        open_, word = open_[order], word[order]
        before = number[open_]
        place = np.arange(len(open_))
        run = np.diff(before, prepend=-1) != 0
        place_in_run = place - np.maximum.accumulate(np.where(run, place, 0))
        new = run | np.append(True, word[1:] != word[:-1])
        start = np.maximum.accumulate(np.where(new, place, 0))
        number[open_] = (before + place_in_run)[start]
        open_ = open_[~(new & np.append(new[1:], True))]
        at += 8
    return number


def _words(blob: np.ndarray, offsets: np.ndarray, names: np.ndarray, at: int) -> np.ndarray:
    """Return eight bytes of each name from position `at` on, NUL beyond its end: uint64[names]."""
    word = np.zeros(len(names), np.uint64)
    start, stop = offsets[names] + at, offsets[names + 1]
    for i in range(8):
        byte = blob[np.minimum(start + i, len(blob) - 1)]
        word = word << np.uint64(8) | np.where(start + i < stop, byte, 0).astype(np.uint64)
    return word
