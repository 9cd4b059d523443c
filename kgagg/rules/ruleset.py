"""A rule set as columns: read from text of every dialect, mapped from its binary form."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from kgagg.errors import InputError, nearest
from kgagg.graph.vocabulary import Vocabulary, free_table
from kgagg.rules import _kernels
from kgagg.rules.checks import check_rules
from kgagg.rules.confidence import TYPES, Confidence, types_of
from kgagg.rules.dialects import anyburl
from kgagg.rules.reading import Problem, Reader, Report
from kgagg.rules.shapes import BARE, GENERAL, ME, ME_ID, SIDE, XX, Rule
from kgagg.util.arrays import is_arrays, open_arrays, save_arrays
from kgagg.util.checks import checking
from kgagg.util.machine import processors

if TYPE_CHECKING:
    import pandas as pd

# what each column holds as long as the numbers are small
COLUMNS: dict[str, type] = {
    "kind": np.uint8,
    "flags": np.uint8,
    "relation": np.int32,
    "head_constant": np.int32,
    "body_constant": np.int32,
    "body": np.int32,
    "predicted": np.int32,
    "correct": np.int32,
    "confidence": np.float64,
    "line": np.int32,
    "source": np.uint8,
}
# the columns that say what the rule is
IDENTITY = ("kind", "flags", "relation", "head_constant", "body_constant", "body")
_TABLES = ("body_ptr", "body_keys", "written_key", "written_ptr", "written_blob")
_NAMES = ("blob", "offsets", "table")
_CHUNK = 1 << 16
# rules that a notebook shows
_SHOWN = 10

Path_ = str | os.PathLike[str]


class RuleRow(NamedTuple):
    """One rule of a rule set, for people.

    Attributes
    ----------
    rule : str
        Its text.
    type : str
        See `kgagg.rules.confidence.TYPES`.
    confidence : float
    correct, predicted : int
        Correct predictions (the support), and all of them.
    """

    rule: str
    type: str
    confidence: float
    correct: int
    predicted: int

    def __str__(self) -> str:
        return f"{self.confidence:.4f} ({self.correct} of {self.predicted})  {self.rule}"


@dataclass(frozen=True, repr=False)
class RuleSet:
    """Rules by descending confidence, ties in the order of the file: the row is the rule's rank.

    Attributes
    ----------
    kind : uint8[rules]
        `CYCLIC`, `CONSTANT`, `DANGLING`, `ZERO` or `GENERAL`.
    flags : uint8[rules]
        `SIDE` if the head's variable is Y; `XX` if the head is written h(X,X); and what is needed
        to write the same text again (see `kgagg.rules.shapes`).
    relation : int32[rules]
        Relation of the head.
    head_constant, body_constant : int32[rules]
        Entities; `NONE_ID` (-1) for none, `ME_ID` (-2) for the reflexive token. A rule with the
        token in its body never fires.
    body : int32[rules]
        The body, which rules share.
    predicted, correct : int32[rules] or int64[rules]
        Number of predictions and of correct ones, as the file says.
    confidence : float64[rules]
        See `Confidence`.
    line : int32[rules]
        Line of the file, from 1.
    source : uint8[rules]
        Position of the file in `sources`.
    body_ptr : int64[bodies + 1]
        The part of each body in `body_keys`.
    body_keys : int32[...]
        The step keys ``2 * relation + direction`` along the path, which starts at X for a cyclic
        rule and at the variable of the head otherwise. For a `GENERAL` rule triples of relation,
        subject and object, with X = 0, Y = 1, and 2 and 3 for inner variables; the bodies of
        these rules come after all others.
    written_key, written_ptr, written_blob : int64[n], int64[n + 1], uint8[...]
        Text of the few lines that cannot be made again from the columns, by
        ``source << 32 | line``, ascending.
    entities, relations : Vocabulary
        The names; those of the graph if there is one.
    sources : tuple of str
        The files.
    settings : Confidence
        What the confidence was computed with.
    pca_predicted : int32[rules] or int64[rules], or None
        AMIE's PCA body size, -1 for a rule that has none; None if no rule has one.
    report : Report
        What became of the lines of the files.
    """

    kind: np.ndarray
    flags: np.ndarray
    relation: np.ndarray
    head_constant: np.ndarray
    body_constant: np.ndarray
    body: np.ndarray
    predicted: np.ndarray
    correct: np.ndarray
    confidence: np.ndarray
    line: np.ndarray
    source: np.ndarray
    body_ptr: np.ndarray
    body_keys: np.ndarray
    written_key: np.ndarray
    written_ptr: np.ndarray
    written_blob: np.ndarray
    entities: Vocabulary
    relations: Vocabulary
    sources: tuple[str, ...]
    settings: Confidence
    pca_predicted: np.ndarray | None = None
    report: Report = field(default_factory=Report)

    @classmethod
    def read(
        cls,
        paths: Path_ | Sequence[Path_],
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
        confidence: Confidence | None = None,
        *,
        strict: bool = False,
        threads: int | None = None,
    ) -> RuleSet:
        """Read rule files, which are merged, or one binary rule set.

        Parameters
        ----------
        paths : path or sequence of paths
            Text of AnyBURL, PyClause or AMIE, plain or compressed; or one binary rule set or
            Parquet file.
        vocabularies : (Vocabulary, Vocabulary), optional
            Entities and relations of the graph. Rules with other names cannot be used; without a
            graph all names are taken.
        confidence : Confidence, optional
            How confidence is computed and which rules are dropped; no rule by default.
        strict : bool
            Raise InputError at the first line that cannot be used.
        threads : int, optional
            How many threads read; all cores by default.

        Raises
        ------
        InputError
            If a file cannot be read, or is not a rule file.
        """
        confidence = confidence or Confidence()
        if isinstance(paths, str | os.PathLike):
            paths = [paths]
        files = [Path(path) for path in paths]
        if not 0 < len(files) <= 256:
            raise InputError(f"{len(files)} rule files, expected 1 to 256")
        threads = threads or processors()
        for path in files:
            form = _form(path)
            if form != "text" and len(files) > 1:
                raise InputError(f"{path}: {form} cannot be merged, expected text")
            if form == "binary":
                return cls.open(path, vocabularies).with_confidence(confidence)
            if form == "Parquet":
                reader = Reader(vocabularies, Confidence(), strict, threads)
                return cls._from_parquet(path, reader).with_confidence(confidence)
        reader = Reader(vocabularies, confidence, strict, threads)
        for source, path in enumerate(files):
            reader.read(path, source)
        return cls.from_reader(reader, tuple(map(str, files)))

    @classmethod
    def _from_parquet(cls, path: Path, reader: Reader) -> RuleSet:
        from kgagg.rules.parquet import RuleTable

        table = RuleTable(path)
        reader.read_blocks(table.blocks(), path, 0)
        rules = cls.from_reader(reader, (str(path),))
        if (pca := table.pca_predicted()) is not None:
            rules = dataclasses.replace(rules, pca_predicted=pca[rules.line - 1])
        return rules

    @classmethod
    def from_reader(cls, reader: Reader, sources: tuple[str, ...]) -> RuleSet:
        """Sort what `reader` has collected, each rule once."""
        columns: dict[str, np.ndarray] = {name: np.empty(0, kind) for name, kind in COLUMNS.items()}
        for name in list(reader.columns):
            columns[name] = reader.columns.pop(name).values()
        columns["body"][columns["kind"] == GENERAL] += reader.bodies[0].count
        first = np.empty(len(columns["kind"]), np.bool_)
        identity = (columns[name] for name in IDENTITY)
        _kernels.first_of_each(*identity, free_table(len(first)), first)
        reader.report.duplicates = int(len(first) - np.count_nonzero(first))
        # no confidence is negative, so its bits as a whole number sort in the same way, but faster
        descending = ~columns["confidence"].view(np.int64)
        order = np.argsort(descending, kind="stable").astype(np.int32)
        order = order[first[order]]
        for name in columns:
            columns[name] = columns[name][order]
        texts = [text.encode() for _, text in reader.written]
        names = [
            names if isinstance(names, Vocabulary) else names.vocabulary()
            for names in (reader.entities, reader.relations)
        ]
        body_sizes = np.concatenate([np.diff(x.offsets[: x.count + 1]) for x in reader.bodies])
        body_keys = np.concatenate([x.blob[: x.offsets[x.count]] for x in reader.bodies])
        return cls(
            **columns,
            body_ptr=np.concatenate([[0], np.cumsum(body_sizes // 4)]),
            body_keys=body_keys.view(np.int32),
            written_key=np.array([key for key, _ in reader.written], np.int64),
            written_ptr=np.cumsum([0, *map(len, texts)], dtype=np.int64),
            written_blob=np.frombuffer(bytearray(b"".join(texts)), np.uint8),
            entities=names[0],
            relations=names[1],
            sources=sources,
            settings=reader.confidence,
            report=reader.report,
        )

    @classmethod
    def from_text(
        cls,
        text: str | Iterable[str],
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
        confidence: Confidence | None = None,
        *,
        strict: bool = True,
    ) -> RuleSet:
        """Read rules from text: a line for each, as in a file (see `read`).

        Parameters
        ----------
        text : str or iterable of str
            Lines, such as ``"r(X,Y) <= s(X,A), t(A,Y)"``, with or without statistics before.
        vocabularies, confidence
            See `read`.
        strict : bool
            Raise InputError at a line that cannot be used, instead of counting it.
        """
        lines = text.splitlines() if isinstance(text, str) else list(text)
        reader = Reader(vocabularies, confidence or Confidence(), strict, 1)
        reader.read_blocks(["".join(f"{line}\n" for line in lines).encode()], Path("text"), 0)
        return cls.from_reader(reader, ("text",))

    def __len__(self) -> int:
        return len(self.kind)

    def __iter__(self) -> Iterator[RuleRow]:
        starts = range(0, len(self), _CHUNK)
        for rows in (np.arange(i, min(i + _CHUNK, len(self))) for i in starts):
            columns = self.listed(rows)
            names = ("rule", "type", "confidence", "correct", "predicted")
            values = (np.asarray(columns[name]).tolist() for name in names)
            yield from map(RuleRow, *values)

    @overload
    def __getitem__(self, rows: int) -> RuleRow: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[int] | np.ndarray) -> RuleSet: ...
    def __getitem__(self, rows: int | slice | Sequence[int] | np.ndarray) -> RuleRow | RuleSet:
        """Return one rule by its rank from 0, or the rules of a slice, a mask or ranks."""
        if isinstance(rows, int | np.integer):
            one = range(len(self))[rows]
            return next(iter(self[[one]]))
        chosen = np.arange(len(self))[rows]
        return self._only(np.unique(chosen))

    def _only(self, rows: np.ndarray) -> RuleSet:
        """Return the rules of these rows, which ascend."""
        changes = {name: column[rows] for name, column in self.columns().items()}
        return dataclasses.replace(self, **changes)

    def filter(
        self,
        *,
        relation: str | None = None,
        type: str | None = None,
        min_confidence: float = 0.0,
        min_support: int = 0,
        max_length: int | None = None,
    ) -> RuleSet:
        """Return the rules that meet all conditions, in the same order (see `select`)."""
        rows = self.select(
            relation=relation,
            type=type,
            min_confidence=min_confidence,
            min_support=min_support,
            max_length=max_length,
        )
        return self._only(rows)

    def select(
        self,
        *,
        relation: str | None = None,
        type: str | None = None,
        min_confidence: float = 0.0,
        min_support: int = 0,
        max_length: int | None = None,
    ) -> np.ndarray:
        """Return the rows of the rules that meet all conditions, ascending: int64[n].

        Parameters
        ----------
        relation : str, optional
            Of the head.
        type : str, optional
            ``"cyclic"``, ``"constant"``, ``"dangling"``, ``"zero"``, ``"general"``, or one of the
            reflexive ones, such as ``"reflexive constant"``.
        min_confidence : float
        min_support : int
            Correct predictions.
        max_length : int, optional
            Atoms in the body.

        Raises
        ------
        InputError
            If there is no such relation or type.
        """
        keep = (self.confidence >= min_confidence) & (self.correct >= min_support)
        if relation is not None:
            keep &= self.relation == self.relations.require(relation, "relation")
        if type is not None:
            if type not in TYPES:
                expected = f"expected one of {', '.join(TYPES)}{nearest(type, TYPES)}"
                raise InputError(f"{type}: no such type of rules, {expected}")
            keep &= self.types == TYPES.index(type)
        if max_length is not None:
            keep &= self.length <= max_length
        return np.flatnonzero(keep)

    def listed(self, rows: np.ndarray) -> dict[str, Any]:
        """Return rules as a table: columns by name, lists or arrays of the same length.

        They are ``rule`` (its text), ``type``, ``length``, ``relation``, ``head_constant``,
        ``body_constant``, ``predicted``, ``correct``, ``pca_predicted``, ``confidence``, ``file``
        and ``line``.

        Parameters
        ----------
        rows : int[n]
        """
        bare = self.flags[rows] & BARE != 0
        pca = np.full(len(rows), -1) if self.pca_predicted is None else self.pca_predicted[rows]
        chosen = list(self.rules(rows))
        return {
            "rule": [line.split("\t")[-1] for line in self.text_lines(rows)],
            "type": [TYPES[number] for number in self.types[rows].tolist()],
            "length": self.length[rows],
            "relation": [rule.relation for rule in chosen],
            "head_constant": [rule.head_constant for rule in chosen],
            "body_constant": [rule.body_constant for rule in chosen],
            "predicted": np.ma.array(self.predicted[rows], mask=bare),
            "correct": np.ma.array(self.correct[rows], mask=bare),
            "pca_predicted": np.ma.array(pca, mask=pca < 0),
            "confidence": self.confidence[rows],
            "file": [self.sources[number] for number in self.source[rows].tolist()],
            "line": self.line[rows],
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each rule, best first (see `listed`); a count that is not known is NA.

        Columns in which all is unknown are left out.
        """
        import pandas as pd

        columns = self.listed(np.arange(len(self)))
        for name, column in columns.items():
            if isinstance(column, np.ma.MaskedArray):
                mask = np.ma.getmaskarray(column)
                columns[name] = pd.arrays.IntegerArray(column.data.astype(np.int64), mask)
        table = pd.DataFrame(columns)
        unknown = [name for name in ("pca_predicted",) if table[name].isna().all()]
        return table.drop(columns=unknown)

    def __repr__(self) -> str:
        counts = self.counts()
        total = counts.pop("total")
        kinds = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        return f"RuleSet({total:,} rules{': ' if kinds else ''}{kinds})"

    def _repr_html_(self) -> str:
        """Show the best rules as a table, in a notebook."""
        from kgagg.util.html import table

        shown = self[:_SHOWN]
        rows = [
            [f"{one.confidence:.4f}", f"{one.correct:,}", f"{one.predicted:,}", one.type, one.rule]
            for one in shown
        ]
        header = ("confidence", "correct", "predicted", "type", "rule")
        more = len(self) - len(shown)
        note = f"{self!r}{f'; {more:,} more' if more else ''}"
        return table(header, rows, note, numeric=3)

    @cached_property
    def types(self) -> np.ndarray:
        """Type of each rule as its position in `TYPES`: uint8[rules]."""
        return types_of(self.kind, self.head_constant)

    @cached_property
    def length(self) -> np.ndarray:
        """Number of atoms in the body of each rule: int32[rules]."""
        keys = np.diff(self.body_ptr).astype(np.int32)[self.body]
        return np.asarray(np.where(self.kind == GENERAL, keys // 3, keys))

    def with_confidence(self, confidence: Confidence) -> RuleSet:
        """Return the rules ranked by other settings, without those below its thresholds."""
        if confidence == self.settings:
            return self
        predicted = self.predicted
        if confidence.pca and self.pca_predicted is not None:
            predicted = np.where(self.pca_predicted >= 0, self.pca_predicted, predicted)
        keep = np.ones(len(self), bool)
        report = dataclasses.replace(self.report, dropped=dict(self.report.dropped))
        passes = confidence.kept(self.types, predicted, self.correct, self.length)
        for name, passed in passes.items():
            if failed := int(np.count_nonzero(keep & ~passed)):
                report.dropped[name] = report.dropped.get(name, 0) + failed
            keep &= passed
        changes: dict[str, Any] = {"settings": confidence, "report": report}
        values, order = self.confidence, np.flatnonzero(keep)
        if not confidence.same_ranks(self.settings):
            values = confidence.of(self.types, predicted, self.correct)
            # rows with equal confidence come in the order of the files
            order = order[np.lexsort((self.line[keep], self.source[keep], -values[keep]))]
        elif keep.all():
            return dataclasses.replace(self, **changes)
        for name, column in self.columns().items():
            changes[name] = (values if name == "confidence" else column)[order]
        return dataclasses.replace(self, **changes)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns that have a row for each rule, by name."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        if self.pca_predicted is not None:
            columns["pca_predicted"] = self.pca_predicted
        return columns

    def rule(self, row: int) -> Rule:
        """Return one rule with its names."""
        return next(self.rules(np.array([row])))

    def rules(self, rows: np.ndarray) -> Iterator[Rule]:
        """Yield rules with their names; `rows` is int[n]."""
        relations = self._relation_names
        # names and bodies that many rules share are made once
        entity = cache(self._entity)
        paths: dict[int, tuple[tuple[str, int], ...]] = {}
        for first in range(0, len(rows), _CHUNK):
            chosen = rows[first : first + _CHUNK]
            columns = (getattr(self, name)[chosen].tolist() for name in IDENTITY)
            for kind, flags, relation, head, tail, body in zip(*columns, strict=True):
                path = paths.get(body)
                if path is None:
                    keys = self.body_keys[self.body_ptr[body] : self.body_ptr[body + 1]].tolist()
                    if kind == GENERAL:
                        triples = zip(keys[::3], keys[1::3], keys[2::3], strict=True)
                        atoms = tuple((relations[r], *ends) for r, *ends in triples)
                        yield Rule(kind, flags, relations[relation], None, None, (), atoms)
                        continue
                    path = paths[body] = tuple((relations[key >> 1], key & 1) for key in keys)
                yield Rule(kind, flags, relations[relation], entity(head), entity(tail), path)

    @cached_property
    def _relation_names(self) -> list[str]:
        return self.relations.names()

    def _entity(self, identifier: int) -> str | None:
        if identifier < 0:
            return ME if identifier == ME_ID else None
        return self.entities[identifier]

    def text(self, row: int) -> str:
        """Return a rule as the text form of AnyBURL has it, without its statistics."""
        return self.text_line(row).split("\t")[-1]

    def text_line(self, row: int) -> str:
        """Return the line of a rule in the text form of AnyBURL, byte by byte as it was read."""
        return next(self.text_lines(np.array([row])))

    def text_lines(self, rows: np.ndarray) -> Iterator[str]:
        """Yield lines in the text form of AnyBURL, as they were read; `rows` is int[n]."""
        written = self.written(rows)
        counts = map(int, self.predicted[rows]), map(int, self.correct[rows])
        for i, (rule, *both) in enumerate(zip(self.rules(rows), *counts, strict=True)):
            yield written.get(i) or anyburl.format_line(rule, *both)

    def written(self, rows: np.ndarray) -> dict[int, str]:
        """Return the lines that cannot be made again, by their position in `rows`."""
        if not len(self.written_key):
            return {}
        keys = self.source[rows].astype(np.int64) << 32 | self.line[rows]
        found = np.searchsorted(self.written_key, keys).clip(max=len(self.written_key) - 1)
        texts = {}
        for i in np.flatnonzero(self.written_key[found] == keys).tolist():
            first, last = self.written_ptr[found[i] : found[i] + 2]
            texts[i] = self.written_blob[first:last].tobytes().decode()
        return texts

    @cached_property
    def file_order(self) -> np.ndarray:
        """The rows in the order of the files: int64[rules]."""
        return np.lexsort((self.line, self.source))

    def counts(self) -> dict[str, int]:
        """Return the number of rules, as ``total`` and by type."""
        by_type = np.bincount(self.types, minlength=len(TYPES)).tolist()
        return {"total": len(self), **dict(zip(TYPES, by_type, strict=True))}

    @cached_property
    def digest(self) -> str:
        """sha256 of the rules with their ranks, statistics and confidence.

        It depends on names, not on identifiers; and not on how or in which file a rule was
        written.
        """
        digest = hashlib.sha256()
        entities, relations = _ByUse(len(self.entities)), _ByUse(len(self.relations))
        for column in (self.kind, self.flags & (SIDE | XX), relations(self.relation)):
            digest.update(column.tobytes())
        for column in (self.head_constant, self.body_constant):
            digest.update(entities(column).tobytes())
        bodies = _ByUse(len(self.body_ptr) - 1)
        digest.update(bodies(self.body).tobytes())
        sizes = np.diff(self.body_ptr)[bodies.order]
        keys = _gather(self.body_keys, self.body_ptr, bodies.order)
        is_general = np.repeat(bodies.order >= self._first_general, sizes)
        digest.update(sizes.tobytes())
        digest.update(_with_relations(keys, is_general, relations).tobytes())
        for names, used in ((self.entities, entities), (self.relations, relations)):
            digest.update(np.diff(names.offsets)[used.order].tobytes())
            digest.update(_gather(names.blob, names.offsets, used.order).tobytes())
        for column in (self.predicted, self.correct):
            digest.update(column.astype(np.int64).tobytes())
        digest.update(self.confidence.tobytes())
        return digest.hexdigest()

    @property
    def _first_general(self) -> int:
        """The first body that is not a path."""
        general = self.body[self.kind == GENERAL]
        return int(general.min(initial=len(self.body_ptr) - 1))

    def save(self, path: Path_) -> None:
        """Write the binary form."""
        arrays = self.columns() | {name: getattr(self, name) for name in _TABLES}
        for kind in ("entities", "relations"):
            names = getattr(self, kind)
            arrays |= {f"{kind}.{part}": getattr(names, part) for part in _NAMES}
        meta = {
            "digest": self.digest,
            "sources": self.sources,
            "settings": self.settings.to_json(),
            "report": dataclasses.asdict(self.report),
        }
        save_arrays(Path(path), "rule set", meta, arrays)

    @classmethod
    def open(
        cls, path: Path_, vocabularies: tuple[Vocabulary, Vocabulary] | None = None
    ) -> RuleSet:
        """Map the binary form, and check it.

        With the vocabularies of a graph other than the one for which it was made, names are
        translated, which reads the columns; rules with unknown names are left out and counted.

        Raises
        ------
        InputError
            If it is no such file, or damaged.
        """
        meta, arrays = open_arrays(Path(path), "rule set")
        with checking(path):
            names = [Vocabulary.checked(arrays, kind) for kind in ("entities", "relations")]
            check_rules(arrays, len(names[0]), len(names[1]), len(meta["sources"]))
            report = meta["report"]
            report["unusable"] = {name: Problem(**x) for name, x in report["unusable"].items()}
            rules = cls(
                **arrays,
                entities=names[0],
                relations=names[1],
                sources=tuple(map(str, meta["sources"])),
                settings=Confidence.from_json(meta["settings"]),
                report=Report(**report),
            )
        if vocabularies is not None:
            rules = rules.translated(*vocabularies)
        if rules.entities is names[0] and rules.relations is names[1]:
            rules.__dict__["digest"] = meta["digest"]
        return rules

    def expect_some(self, graph: object) -> None:
        """Check that there are rules at all, or that all of them are below a threshold.

        Parameters
        ----------
        graph : object
            What the rules are for, in words.

        Raises
        ------
        InputError
            If no line is a rule, or none has names of the graph: the first of them is told.
        """
        report = self.report
        if len(self) or report.dropped:
            return
        problems = report.unusable.values()
        if not problems:
            raise InputError(f"{', '.join(self.sources)}: no rules")
        count = sum(problem.count for problem in problems)
        first = next(iter(problems)).first
        if report.unusable.keys() <= {"unknown relation", "unknown entity"}:
            raise InputError(f"none of the {count:,} rules has names of {graph}: {first}")
        raise InputError(f"none of the {count:,} lines is a rule that can be used: {first}")

    def translated(self, entities: Vocabulary, relations: Vocabulary) -> RuleSet:
        """Return the rules with the identifiers of other vocabularies."""
        if self.entities.same_as(entities) and self.relations.same_as(relations):
            return self
        known_relation = self.relations.numbers_in(relations)
        # there may be no constant at all
        known_entity = np.append(self.entities.numbers_in(entities), np.int32(-1))
        sizes = np.diff(self.body_ptr)
        is_general = np.repeat(np.arange(len(sizes)) >= self._first_general, sizes)
        keys = _with_relations(self.body_keys, is_general, lambda x: known_relation[x])
        bad_keys = np.flatnonzero(keys < 0)
        bad_body = np.zeros(len(sizes), bool)
        bad_body[np.searchsorted(self.body_ptr, bad_keys, side="right") - 1] = True
        relation = known_relation[self.relation]
        constants = [
            np.where(column < 0, column, known_entity[np.maximum(column, 0)])
            for column in (self.head_constant, self.body_constant)
        ]
        unknown = {
            "unknown relation": (relation < 0) | bad_body[self.body],
            "unknown entity": np.logical_or(
                *(
                    (column >= 0) & (new < 0)
                    for column, new in zip(
                        (self.head_constant, self.body_constant), constants, strict=True
                    )
                )
            ),
        }
        report = dataclasses.replace(self.report, unusable=dict(self.report.unusable))
        keep = np.ones(len(self), bool)
        for reason, rows in unknown.items():
            rows &= keep
            keep &= ~rows
            if rows.any():
                found = np.flatnonzero(rows)
                row = found[np.lexsort((self.line[found], self.source[found]))[0]]
                place = f"{self.sources[self.source[row]]}:{self.line[row]}"
                first = f"{place}: {reason} in {self.text(int(row))!r}"
                report.unusable[reason] = Problem(len(found), first)
        changes = self.columns() | {
            "relation": relation,
            "head_constant": constants[0],
            "body_constant": constants[1],
        }
        return dataclasses.replace(
            self,
            **{name: column[keep] for name, column in changes.items()},
            body_keys=keys,
            entities=entities,
            relations=relations,
            report=report,
        )


def _form(path: Path) -> str:
    """Return what a file is by how it begins; one that cannot be read counts as text."""
    if not path.is_file():
        return "text"
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    return "Parquet" if parquet else "binary" if is_arrays(path) else "text"


class _ByUse:
    """Number identifiers in the order in which they are first used."""

    def __init__(self, size: int) -> None:
        self._numbers = np.full(size, -1, np.int32)
        self._order = np.empty(size, np.int32)
        self._count = 0

    def __call__(self, values: np.ndarray) -> np.ndarray:
        numbers = np.empty(len(values), np.int32)
        self._count = _kernels.number_by_use(
            np.ascontiguousarray(values), self._numbers, self._order, self._count, numbers
        )
        return numbers

    @property
    def order(self) -> np.ndarray:
        return self._order[: self._count]


def _gather(values: np.ndarray, ptr: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the parts ``values[ptr[i]:ptr[i + 1]]`` for each i of `order`, one after the other."""
    result = np.empty(np.diff(ptr)[order].sum(), values.dtype)
    _kernels.gather(values, ptr, order, result)
    return result


def _with_relations(
    keys: np.ndarray, is_general: np.ndarray, change: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the keys of bodies with other relations; a key becomes negative if its relation is."""
    result = keys.copy()
    result[~is_general] = 2 * change(keys[~is_general] >> 1) + (keys[~is_general] & 1)
    triples = keys[is_general]
    triples[::3] = change(triples[::3])
    result[is_general] = triples
    return result
