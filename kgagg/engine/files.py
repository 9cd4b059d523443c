"""Firings as a Parquet file: a row for each query and candidate.

The columns are ``query`` (a number), ``candidate``, ``count``, ``strength``, ``level`` and
``rules`` (see `kgagg.engine.firings.Firings`). A row group holds `GROUP` queries, so a file is
written and read in little memory, and its bytes do not depend on how the work was cut. The
file's metadata hold what else it takes to aggregate: the queries with their targets, the confidence
of each rule, the names, and the settings; nothing but the file is needed to rank and to tune.
"""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgagg.engine.firings import Firings, Names
from kgagg.engine.queries import DIRECTIONS, Queries
from kgagg.errors import InputError
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules.confidence import weight_of
from kgagg.util.checks import (
    OLDER,
    checking,
    digest_of,
    expect,
    expect_arrays,
    expect_ascending,
    expect_pointers,
    expect_within,
)
from kgagg.util.parquet import open_parquet, parquet_writer, reading_parquet

GROUP = 256
_SCHEMA = pa.schema(
    [
        ("query", pa.int32()),
        ("candidate", pa.int32()),
        ("count", pa.int32()),
        ("strength", pa.float64()),
        ("level", pa.int32()),
        ("rules", pa.large_list(pa.int32())),
    ]
)
_SETTINGS, _ARRAYS, _DIGEST = b"kgagg.settings", b"kgagg.arrays", b"kgagg.arrays.digest"
_QUERIES = tuple(field.name for field in fields(Queries))


def write_firings(
    path: str | os.PathLike[str],
    chunks: Iterable[Firings],
    entities: Vocabulary,
    relations: Vocabulary,
    settings: Mapping[str, Any],
) -> None:
    """Write firings chunk by chunk; the file appears when all of them are written.

    Parameters
    ----------
    path : path
    chunks : iterable of Firings
        Of one rule set; the bytes of the file do not depend on how they are cut.
    entities, relations : Vocabulary
    settings : mapping
        How the firings were made, JSON-compatible; ``part`` says which queries they are for,
        as the first one, and how many there are in all.
    """
    queries, confidence = [], np.empty(0)
    # most columns compress better as they are than by a dictionary
    with parquet_writer(path, _SCHEMA, compression="zstd", use_dictionary=False) as file:
        for number, firings in enumerate(_regrouped(chunks)):
            file.write_table(_table(firings, number * GROUP))
            queries.append(firings.queries)
            confidence = firings.confidence
        arrays: dict[str, Any] = {"confidence": confidence}
        if queries:
            every = Queries.concatenate(queries)
            arrays |= {name: getattr(every, name) for name in _QUERIES}
        for kind, names in (("entities", entities), ("relations", relations)):
            arrays |= {f"{kind}.blob": names.blob, f"{kind}.offsets": names.offsets}
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)
        text = json.dumps(dict(settings), sort_keys=True).encode()
        digest = digest_of(text + packed.getvalue()).encode()
        meta = {_SETTINGS: text, _ARRAYS: packed.getvalue(), _DIGEST: digest}
        file.add_key_value_metadata(meta)


def _table(firings: Firings, first: int) -> pa.Table:
    query = np.repeat(np.arange(first, first + len(firings.queries)), np.diff(firings.query_ptr))
    rules = pa.LargeListArray.from_arrays(firings.rule_ptr, pa.array(firings.rules))
    columns = (query.astype(np.int32), firings.candidate, firings.count, firings.strength)
    return pa.table([*columns, firings.level, rules], schema=_SCHEMA)


def _regrouped(chunks: Iterable[Firings]) -> Iterator[Firings]:
    """Cut firings into chunks of `GROUP` queries, but for the last one."""
    waiting: list[Firings] = []
    for chunk in chunks:
        waiting.append(chunk)
        if sum(len(firings.queries) for firings in waiting) < GROUP:
            continue
        whole = Firings.concatenate(waiting)
        cuts = range(0, len(whole.queries) - GROUP + 1, GROUP)
        yield from (whole.part(start, start + GROUP) for start in cuts)
        rest = len(whole.queries) % GROUP
        waiting = [whole.part(len(whole.queries) - rest, len(whole.queries))] if rest else []
    if waiting:
        yield Firings.concatenate(waiting)


class FiringsFile:
    """A file that `write_firings` wrote.

    Parameters
    ----------
    path : path

    Attributes
    ----------
    settings : dict
        How the firings were made.
    queries : Queries
    entities, relations : Vocabulary
    confidence : float64[rules]
        Of all rules, by rank.

    Raises
    ------
    InputError
        If it is not such a file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        # names and confidences can be larger than the default limit of 100 MB
        limit = 2**31 - 1
        self._file = open_parquet(self.path, "firings", thrift_string_size_limit=limit)
        meta = self._file.metadata.metadata or {}
        if _ARRAYS not in meta:
            raise InputError(f"{path}: expected a file that `kgagg apply` wrote")
        if _DIGEST not in meta:
            raise InputError(f"{path}: {OLDER}")
        with checking(path):
            text, packed = meta[_SETTINGS], meta[_ARRAYS]
            same = meta[_DIGEST] == digest_of(text + packed).encode()
            expect(same, "the metadata do not have their digest")
            self.settings: dict[str, Any] = json.loads(text)
            first, total = self.settings["part"]
            expect(isinstance(self.settings.get("best", 0), int), "best is no number")
            expect(isinstance(self.settings.get("rules", ""), str), "rules is no text")
            expect(0 <= first <= total, "part is out of range")
            # no pickles: those can run anything
            with np.load(io.BytesIO(packed), allow_pickle=False) as file:
                arrays = dict(file)
            self.entities, self.relations = (
                Vocabulary.checked(arrays, kind) for kind in ("entities", "relations")
            )
            self.confidence = arrays.pop("confidence")
            confidence = {"confidence": self.confidence}
            expect_arrays(confidence, {"confidence": (np.float64,)}, -1)
            expect_within("confidence", self.confidence, 0, 1)
            descends = (self.confidence[1:] <= self.confidence[:-1]).all()
            expect(descends, "confidence does not descend")
            self.queries = Queries.from_triples(np.empty((0, 3), np.int32))
            if arrays:
                self._check_queries(arrays)
                self.queries = Queries(**arrays)
            groups = -(-len(self.queries) // GROUP)
            expect(self._file.num_row_groups == groups, "has other row groups than queries")
            expect(self._file.schema_arrow.equals(_SCHEMA), "has other columns than firings")

    def _check_queries(self, arrays: Mapping[str, np.ndarray]) -> None:
        count = len(arrays["relation"])
        number = (np.int32,)
        types = {"relation": number, "direction": (np.uint8,), "entity": number}
        expect_arrays(arrays, types, count)
        expect_arrays(arrays, {"target_ptr": (np.int64,)}, count + 1)
        expect_arrays(arrays, {"target": number, "triple": number}, len(arrays["target"]))
        expect_within("relation", arrays["relation"], 0, len(self.relations) - 1)
        expect_within("direction", arrays["direction"], 0, len(DIRECTIONS) - 1)
        expect_within("entity", arrays["entity"], 0, len(self.entities) - 1)
        expect_within("target", arrays["target"], 0, len(self.entities) - 1)
        expect_within("triple", arrays["triple"], -1, np.inf)
        expect_pointers("target_ptr", arrays["target_ptr"], len(arrays["target"]))
        expect_ascending("target", arrays["target"], arrays["target_ptr"])

    @property
    def names(self) -> Names:
        """What the numbers stand for."""
        return Names(self.entities, self.relations, self.settings["rules"], len(self.confidence))

    def expect_rules(self, best: int, reader: str) -> None:
        """Check that the file keeps the best rules of each candidate; 0 means all of them.

        Raises
        ------
        InputError
            If the file keeps fewer than `reader` reads.
        """
        kept = self.settings["best"]
        if kept and not 0 < best <= kept:
            raise InputError(
                f"{self.path}: has the best {kept} rules of a candidate, {reader} reads more"
            )

    @property
    def triples(self) -> np.ndarray:
        """The triples from which the queries come, int32[n, 3]."""
        first, total = self.settings["part"]
        if first or total != len(self.queries):
            raise InputError(f"{self.path}: has a part of the queries, expected all of them")
        queries = self.queries
        with checking(self.path):
            expect_within("triple", queries.triple, 0, len(queries.triple) - 1)
        triples = np.empty((queries.triple.max(initial=-1) + 1, 3), np.int32)
        owner = np.repeat(np.arange(len(queries)), np.diff(queries.target_ptr))
        tail = queries.direction[owner] == 0
        triples[queries.triple, 1] = queries.relation[owner]
        triples[queries.triple, 0] = np.where(tail, queries.entity[owner], queries.target)
        triples[queries.triple, 2] = np.where(tail, queries.target, queries.entity[owner])
        return triples

    def chunks(self) -> Iterator[Firings]:
        """Read the firings, one row group after the other."""
        weight = weight_of(self.confidence)
        for number in range(self._file.num_row_groups):
            with reading_parquet(self.path, "firings"):
                table = self._file.read_row_group(number).combine_chunks()
            start, stop = number * GROUP, min((number + 1) * GROUP, len(self.queries))
            columns = {name: table[name].combine_chunks() for name in _SCHEMA.names}
            rules = columns.pop("rules")
            query, candidate, count, strength, level = (
                column.to_numpy(zero_copy_only=False).copy() for column in columns.values()
            )
            found = Firings(
                self.queries.part(start, stop),
                np.searchsorted(query, np.arange(start, stop + 1)).astype(np.int64),
                candidate,
                count,
                strength,
                level,
                rules.offsets.to_numpy().astype(np.int64),
                rules.values.to_numpy().copy(),
                self.confidence,
                weight,
            )
            with checking(self.path):
                nulls = [table[name].null_count for name in _SCHEMA.names]
                expect(not any(nulls) and not rules.values.null_count, "a row has nulls")
                expect_within("query", query, start, stop - 1)
                expect((query[1:] >= query[:-1]).all(), "query does not ascend")
                self._check(found)
            yield found

    def _check(self, firings: Firings) -> None:
        expect_within("candidate", firings.candidate, 0, len(self.entities) - 1)
        expect_within("strength", firings.strength, 0, np.inf)
        expect_within("level", firings.level, 0, len(firings))
        expect_pointers("the pointer of rules", firings.rule_ptr, len(firings.rules))
        kept = np.diff(firings.rule_ptr)
        expect(kept.min(initial=1) > 0, "a candidate has no rule")
        expect((firings.count >= kept).all(), "count is less than there are rules")
        expect_within("rules", firings.rules, 0, len(self.confidence) - 1)


def gather_firings(paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> None:
    """Join files for the parts of all queries, in any order, to the file for all of them.

    It is the same, byte for byte, as if the rules had been applied to all queries at once.

    Raises
    ------
    InputError
        If a part is missing or there twice, or the files were written with different settings.
    """
    files = sorted(map(FiringsFile, paths), key=lambda file: file.settings["part"][0])
    following = 0
    for file in files:
        first, total = file.settings["part"]
        if file.settings | {"part": 0} != files[0].settings | {"part": 0}:
            raise InputError(f"{file.path}: written with other settings than {files[0].path}")
        if first != following:
            raise InputError(f"{file.path}: starts at query {first}, expected {following}")
        following += len(file.queries)
    if not files or following != total:
        raise InputError(f"{following} of the queries were given, expected all of them")
    chunks = itertools.chain.from_iterable(file.chunks() for file in files)
    settings = files[0].settings | {"part": [0, total]}
    write_firings(out, chunks, files[0].entities, files[0].relations, settings)
