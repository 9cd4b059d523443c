"""Reading rule files: large ones block by block, with several threads, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgagg.errors import InputError
from kgagg.graph.vocabulary import Interner, Vocabulary
from kgagg.rules import _kernels as k
from kgagg.rules.confidence import Confidence, types_of
from kgagg.rules.dialects import amie, anyburl
from kgagg.rules.shapes import BARE, GENERAL, ME, ME_ID, NONE_ID, STYLE, Rule, Unusable
from kgagg.util.files import line_blocks

_BLOCK = 1 << 20
# characters of a line in a message
_SHOWN = 80
_ME = np.frombuffer(ME.encode(), np.uint8).copy()
_EXPECTED = (
    "unknown format, expected rules of AnyBURL or PyClause (predicted, correct, confidence and "
    "HEAD <= BODY, with tabs between) or the output of AMIE 3"
)


@dataclass
class Problem:
    """The unusable lines with the same reason: how many, and the first of them."""

    count: int
    first: str


@dataclass
class Report:
    """What became of the lines that were read.

    Attributes
    ----------
    lines : int
        All lines.
    other : int
        Lines that are not meant to be rules: empty ones, comments, the log of a miner.
    unusable : dict of str to Problem
        Lines that should be rules and cannot be used, by reason.
    dropped : dict of str to int
        Rules below a threshold, by the threshold's name.
    duplicates : int
        Rules that were read before, up to the names of variables and the order of atoms.
    bare : int
        Rules that came without statistics, which count as 100 correct of 100 predictions.
    """

    lines: int = 0
    other: int = 0
    unusable: dict[str, Problem] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    bare: int = 0

    def add_unusable(self, problem: Unusable, place: str, strict: bool) -> None:
        """Count an unusable line, or raise InputError if `strict`."""
        if not strict and problem.reason in self.unusable:
            self.unusable[problem.reason].count += 1
            return
        first = f"{place}: {problem}{problem.hint()}"
        if strict:
            raise InputError(first)
        self.unusable[problem.reason] = Problem(1, first)


class Parsed(NamedTuple):
    """A line that was read by one of the parsers, with its text if that cannot be made again."""

    rule: Rule
    predicted: int
    correct: int
    pca_predicted: int
    written: str | None


class _Block(NamedTuple):
    text: bytes
    rows: np.ndarray
    hashes: np.ndarray
    keys: np.ndarray
    used: int


class _Column:
    """An array that grows at its end.

    Many small arrays, joined in the end, would leave the memory in pieces that stay.
    """

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self.size = len(values)

    def extend(self, values: np.ndarray) -> None:
        """Append `values`; the type becomes wider if theirs is."""
        end = self.size + len(values)
        dtype = np.promote_types(self._values.dtype, values.dtype)
        if end > len(self._values) or dtype != self._values.dtype:
            larger = np.empty(max(end, len(self._values) * 3 // 2), dtype)
            larger[: self.size] = self._values[: self.size]
            self._values = larger
        self._values[self.size : end] = values
        self.size = end

    def values(self) -> np.ndarray:
        """Return what was appended."""
        return self._values[: self.size]


class _Style:
    """What a way to write the confidence makes of statistics, each pair of them written once."""

    def __init__(self, write: Callable[[int, int], str]) -> None:
        self._write = write
        self._pairs = Interner()
        self._hashes = np.empty(0, np.uint64)

    def hashes(self, predicted: np.ndarray, correct: np.ndarray) -> np.ndarray:
        """Return the hash of the text of each confidence: uint64[n]."""
        names = self._pairs
        pairs = predicted << 32 | correct
        names.reserve(len(pairs), pairs.nbytes)
        numbers = np.empty(len(pairs), np.int32)
        known = names.count
        names.count = int(
            k.intern_pairs(
                pairs.view(np.uint8), names.blob, names.offsets, names.table, known, numbers
            )
        )
        if names.count > known:
            new = names.blob[8 * known : 8 * names.count].view(np.int64).tolist()
            text = "".join(f"{self._write(pair >> 32, pair & 0xFFFFFFFF)}\n" for pair in new)
            hashes = np.empty(len(new), np.uint64)
            k.hash_lines(np.frombuffer(bytearray(text.encode()), np.uint8), hashes)
            self._hashes = np.concatenate([self._hashes, hashes])
        return self._hashes[numbers]


class Reader:
    """Collect the rules of any number of files as columns.

    Parameters
    ----------
    vocabularies : (Vocabulary, Vocabulary) or None
        Entities and relations of the graph; a rule with another name is unusable. Without a graph
        the names are numbered as they come, in one thread.
    confidence : Confidence
        The confidence of the rules, and the thresholds below which they are dropped.
    strict : bool
        Raise InputError at the first unusable line.
    threads : int
        How many threads read. The result does not depend on it.
    """

    def __init__(
        self,
        vocabularies: tuple[Vocabulary, Vocabulary] | None,
        confidence: Confidence,
        strict: bool,
        threads: int,
    ) -> None:
        self.confidence, self.strict, self.threads = confidence, strict, threads
        self.report = Report()
        self.open = vocabularies is None
        self.entities: Vocabulary | Interner
        self.relations: Vocabulary | Interner
        self.entities, self.relations = vocabularies or (Interner(), Interner())
        # bodies that are paths, and general ones
        self.bodies = Interner(), Interner()
        self.columns: dict[str, _Column] = {}
        self.written: list[tuple[int, str]] = []
        self._styles = [_Style(write) for write in anyburl.STYLES]

    def read(self, path: Path, source: int) -> None:
        """Read a text file, plain or compressed, in whichever dialect it is."""
        blocks = line_blocks(path, _BLOCK)
        first = next(blocks, b"")
        dialect = _dialect(first)
        if dialect is None:
            start = first.split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
            shown = f"; it begins with {start[:_SHOWN]!r}" if start else ""
            raise InputError(f"{path}: {_EXPECTED}{shown}")
        if dialect == "amie":
            self._read_amie(chain([first], blocks), path, source)
        else:
            self.read_blocks(chain([first], blocks), path, source)

    def read_blocks(self, blocks: Iterable[bytes], path: Path, source: int) -> None:
        """Read blocks of whole lines in the text form of AnyBURL."""
        parse = self._anyburl_parser()
        line = 1
        for block in self._cut_blocks(blocks):
            self._match_styles(block)
            self._merge(block, parse, path, source, line)
            line += len(block.rows)

    def _read_amie(self, blocks: Iterable[bytes], path: Path, source: int) -> None:
        parse = self._amie_parser()
        line = 1
        for text in blocks:
            block = _uncut(text)
            self._merge(block, parse, path, source, line)
            line += len(block.rows)

    def _cut_blocks(self, blocks: Iterable[bytes]) -> Iterator[_Block]:
        """Run the kernel over the blocks, in order, with a few blocks ahead of the result."""
        if self.open:
            yield from map(self._cut_block, blocks)
            return
        # the kernel is compiled in this thread, which hears Ctrl-C
        self._cut_block(b"\n")
        with ThreadPoolExecutor(self.threads) as pool:
            ahead: deque[Future[_Block]] = deque()
            for text in blocks:
                ahead.append(pool.submit(self._cut_block, text))
                if len(ahead) > self.threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

    def _cut_block(self, text: bytes) -> _Block:
        if self.open and not _is_utf8(text):
            return _uncut(text)
        # a bytearray, because numba takes read-only arrays for another type
        buffer = np.frombuffer(bytearray(text), np.uint8)
        lines = text.count(b"\n")
        rows = np.zeros((lines, k.COLUMNS), np.int64)
        hashes = np.zeros(lines, np.uint64)
        keys = np.empty(len(text) // 6 + 1, np.int32)
        counts = np.full(2, -1, np.int64)
        if isinstance(self.entities, Interner) and isinstance(self.relations, Interner):
            self.entities.reserve(2 * lines, len(text))
            self.relations.reserve(text.count(b"("), len(text))
            counts[:] = self.entities.count, self.relations.count
        used = k.read_block(
            buffer,
            rows,
            hashes,
            keys,
            self.entities.blob,
            self.entities.offsets,
            self.entities.table,
            self.relations.blob,
            self.relations.offsets,
            self.relations.table,
            counts,
            _ME,
            np.empty((k.SLICES, 3), np.int64),
        )
        if isinstance(self.entities, Interner) and isinstance(self.relations, Interner):
            self.entities.count, self.relations.count = map(int, counts)
        return _Block(text, rows, hashes, keys, int(used))

    def _match_styles(self, block: _Block) -> None:
        """Find out how the confidence is written; leave lines with another text to the parser."""
        rows = np.flatnonzero(block.rows[:, k.STATUS] == k.RULE)
        for number, style in enumerate(self._styles):
            predicted, correct = block.rows[rows, k.PREDICTED], block.rows[rows, k.CORRECT]
            same = block.hashes[rows] == style.hashes(predicted, correct)
            block.rows[rows[same], k.FLAGS] |= number * STYLE
            rows = rows[~same]
            if not len(rows):
                return
        block.rows[rows, k.STATUS] = k.OTHER

    def _merge(
        self,
        block: _Block,
        parse: Callable[[str], Parsed | None],
        path: Path,
        source: int,
        first_line: int,
    ) -> None:
        """Read the lines that are left, and take the block over into the columns."""
        rows, keys = block.rows, [block.keys[: block.used]]
        used = block.used
        pca = np.full(len(rows), -1, np.int64)
        for i in np.flatnonzero(rows[:, k.STATUS] == k.OTHER).tolist():
            row = rows[i]
            try:
                parsed = parse(_decoded(block.text[row[k.START] : row[k.STOP]].rstrip(b"\r")))
                if parsed is None:
                    row[k.STATUS] = k.SKIP
                    continue
                body = self._resolve(parsed, row)
            except Unusable as problem:
                self.report.add_unusable(problem, f"{path}:{first_line + i}", self.strict)
                continue
            row[k.KEYS], row[k.KEYS_END] = used, used + len(body)
            used += len(body)
            keys.append(np.array(body, np.int32))
            row[k.STATUS] = k.RULE
            self.report.bare += bool(parsed.rule.flags & BARE)
            pca[i] = parsed.pca_predicted
            if parsed.written is not None:
                self.written.append((source << 32 | first_line + i, parsed.written))
        bodies = self._intern(rows, np.concatenate(keys))
        self.report.lines += len(rows)
        self.report.other += int(np.count_nonzero(rows[:, k.STATUS] == k.SKIP))
        taken = np.flatnonzero(rows[:, k.STATUS] == k.RULE)
        self._append(rows[taken], bodies[taken], first_line + taken, source, pca[taken])

    def _resolve(self, parsed: Parsed, row: np.ndarray) -> list[int]:
        """Put the identifiers of a rule into its row; return the keys of its body."""
        rule = parsed.rule
        row[k.KIND], row[k.FLAGS] = rule.kind, rule.flags
        row[k.PREDICTED], row[k.CORRECT] = parsed.predicted, parsed.correct
        row[k.RELATION] = self._relation(rule.relation)
        row[k.HEAD], row[k.BODY] = map(self._entity, (rule.head_constant, rule.body_constant))
        if rule.kind == GENERAL:
            return [x for name, *ends in rule.atoms for x in (self._relation(name), *ends)]
        return [2 * self._relation(name) + direction for name, direction in rule.path]

    def _relation(self, name: str) -> int:
        return self._identifier(self.relations, name, "unknown relation")

    def _entity(self, name: str | None) -> int:
        if name is None or name == ME:
            return NONE_ID if name is None else ME_ID
        return self._identifier(self.entities, name, "unknown entity")

    def _identifier(self, names: Vocabulary | Interner, name: str, reason: str) -> int:
        if isinstance(names, Interner):
            return names.add(name)
        found = names.id(name)
        if found < 0:
            raise Unusable(reason, repr(name), lambda: names.nearest(name))
        return found

    def _intern(self, rows: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return a number for each body, the general ones counted apart: int32[lines]."""
        numbers = np.empty(len(rows), np.int32)
        for is_general, bodies in enumerate(self.bodies):
            count = int(np.count_nonzero((rows[:, k.KIND] == GENERAL) == is_general))
            bodies.reserve(count, keys.nbytes if count else 0)
            bodies.count = int(
                k.intern_bodies(
                    rows,
                    keys.view(np.uint8),
                    bodies.blob,
                    bodies.offsets,
                    bodies.table,
                    bodies.count,
                    bool(is_general),
                    numbers,
                )
            )
        return numbers

    def _append(
        self,
        rows: np.ndarray,
        bodies: np.ndarray,
        lines: np.ndarray,
        source: int,
        pca: np.ndarray,
    ) -> None:
        """Compute the confidence, drop what is below a threshold, and store the rest."""
        predicted, correct = rows[:, k.PREDICTED], rows[:, k.CORRECT]
        if self.confidence.pca:
            predicted = np.where(pca >= 0, pca, predicted)
        types = types_of(rows[:, k.KIND], rows[:, k.HEAD])
        length = rows[:, k.KEYS_END] - rows[:, k.KEYS]
        length[rows[:, k.KIND] == GENERAL] //= 3
        keep = np.ones(len(rows), bool)
        for name, passed in self.confidence.kept(types, predicted, correct, length).items():
            if failed := int(np.count_nonzero(keep & ~passed)):
                self.report.dropped[name] = self.report.dropped.get(name, 0) + failed
            keep &= passed
        columns: dict[str, np.ndarray] = {
            "kind": rows[:, k.KIND].astype(np.uint8),
            "flags": rows[:, k.FLAGS].astype(np.uint8),
            "relation": rows[:, k.RELATION].astype(np.int32),
            "head_constant": rows[:, k.HEAD].astype(np.int32),
            "body_constant": rows[:, k.BODY].astype(np.int32),
            "body": bodies,
            "predicted": _small(rows[:, k.PREDICTED]),
            "correct": _small(correct),
            "confidence": self.confidence.of(types, predicted, correct),
            "line": lines.astype(np.int32),
            "source": np.full(len(rows), source, np.uint8),
        }
        # the PCA column begins with the first block that needs it
        if "pca_predicted" in self.columns or pca.max(initial=-1) >= 0:
            columns["pca_predicted"] = _small(pca)
            before = self.columns["kind"].size if self.columns else 0
            self.columns.setdefault("pca_predicted", _Column(np.full(before, -1, np.int32)))
        for name, values in columns.items():
            self.columns.setdefault(name, _Column(values[:0])).extend(values[keep])

    def _anyburl_parser(self) -> Callable[[str], Parsed | None]:
        entity = None if self.open else self._has_entity
        relation = None if self.open else self._has_relation

        def parse(line: str) -> Parsed | None:
            if not line or line.startswith("#"):
                return None
            rule, predicted, correct, exact = anyburl.parse_line(line, entity, relation)
            return Parsed(rule, predicted, correct, -1, None if exact else line)

        return parse

    def _amie_parser(self) -> Callable[[str], Parsed | None]:
        header = amie.Header()

        def parse(line: str) -> Parsed | None:
            if header.read(line) or not amie.is_rule(line):
                return None
            rule, correct, predicted, pca = amie.parse_line(line, header)
            if predicted is None and not (self.confidence.pca and pca is not None):
                raise Unusable("no standard confidence", "no body size, choose the PCA confidence")
            pca = -1 if pca is None else pca
            return Parsed(rule, pca if predicted is None else predicted, correct, pca, None)

        return parse

    def _has_entity(self, name: str) -> bool:
        return isinstance(self.entities, Vocabulary) and name in self.entities

    def _has_relation(self, name: str) -> bool:
        return isinstance(self.relations, Vocabulary) and name in self.relations


def _dialect(block: bytes) -> str | None:
    """Return the dialect of a file, by its first block."""
    header = amie.Header()
    for line in block.decode(errors="replace").split("\n"):
        first, tab, _ = line.partition("\t")
        if header.read(line) or (tab and amie.is_rule(first)):
            return "amie"
        if ") <= " in line or line.rstrip("\r").endswith(") <="):
            return "anyburl"
    return None


def _uncut(text: bytes) -> _Block:
    """Return a block whose lines are all left to the parser."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    rows = np.zeros((len(ends), k.COLUMNS), np.int64)
    rows[:, k.STATUS] = k.OTHER
    rows[1:, k.START] = ends[:-1] + 1
    rows[:, k.STOP] = ends
    return _Block(text, rows, np.zeros(len(ends), np.uint64), np.empty(0, np.int32), 0)


def _is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise Unusable("not UTF-8", f"byte {error.start + 1} of the line") from None


def _small(values: np.ndarray) -> np.ndarray:
    """Return the values as int32 if they fit."""
    return values.astype(np.int32 if values.max(initial=0) < 2**31 else np.int64)
