"""Answer queries: the best candidates of each, by a strategy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgagg.aggregation import Strategy, score
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Queries
from kgagg.errors import InputError, nearest
from kgagg.evaluation import DIRECTIONS
from kgagg.files import line_blocks, replacing, writing
from kgagg.graph import Adjacency, Graph
from kgagg.rankings import Candidates, Ranking

# instead of an entity: what is asked for
ASKED = -1
# how many answers are made ready to be written at once, those to the last query aside
_HELD = 1 << 16


class Answers(NamedTuple):
    """The answers to one query, best first.

    Attributes
    ----------
    head, relation, tail : int
        `ASKED` stands for the one that is asked for.
    candidates : Candidates
        Entities, and what the strategy shows for them (see `Strategy.value`).
    known : bool[n]
        Which of them are known facts.
    """

    head: int
    relation: int
    tail: int
    candidates: Candidates
    known: np.ndarray


def all_facts(graph: Graph) -> Adjacency:
    """Return the facts of all splits."""
    triples = np.concatenate([graph.train, graph.valid, graph.test])
    return Adjacency.build(triples, len(graph.entities), len(graph.relations))


def make_queries(asked: np.ndarray) -> Queries:
    """Make queries in the same order; a whole triple asks for its tail, then for its head.

    Parameters
    ----------
    asked : int32[n, 3]
        Head, relation, tail, of which the head or the tail may be `ASKED`.
    """
    whole = (asked != ASKED).all(axis=1)
    row = np.repeat(np.arange(len(asked), dtype=np.int32), 1 + whole)
    head, relation, tail = asked[row].T
    # the second query of a whole triple is the one that asks for its head
    second = np.diff(row, prepend=-1) == 0
    direction = ((head == ASKED) | second).astype(np.uint8)
    target = whole[row]
    return Queries(
        relation.copy(),
        direction,
        np.where(direction, tail, head),
        np.concatenate([[0], np.cumsum(target)]).astype(np.int64),
        np.where(direction, head, tail)[target],
        row[target],
    )


def missing(graph: Graph, relation: str, ask: str = "tails") -> np.ndarray:
    """Return what asks for the missing facts of a relation: int32[n, 3].

    Parameters
    ----------
    graph : Graph
    relation : str
    ask : str
        ``"tails"`` of all its heads in train, ``"heads"`` of all its tails, or ``"both"``.

    Raises
    ------
    InputError
        If there is no such relation.
    """
    number = graph.relations.require(relation, "relation")
    facts = graph.train[graph.train[:, 1] == number]
    asked = []
    for given, column in (("heads", 0), ("tails", 2)):
        if ask != given:
            entities = np.unique(facts[:, column])
            rows = np.full((len(entities), 3), ASKED, np.int32)
            rows[:, 1], rows[:, column] = number, entities
            asked.append(rows)
    return np.concatenate(asked)


def answer(
    engine: Engine,
    queries: Queries,
    strategy: Strategy,
    *,
    top_k: int = 100,
    top_x: int = 200,
    show_known: bool = False,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Iterator[Answers]:
    """Yield the answers to one query after the other.

    Parameters
    ----------
    engine : Engine
    queries : Queries
        Their targets are answers even if they are known.
    strategy : Strategy
    top_k : int
        How many answers a query has at most, its targets not counted; 0 for all.
    top_x : int
        See `Engine.apply`; not less than `top_k`.
    show_known : bool
        Known facts are answers too. Otherwise the facts of all splits are left out.
    threads, memory, quiet
        See `Engine.apply`.
    """
    graph = engine.graph
    facts = all_facts(graph)
    nothing = Adjacency.build(graph.train[:0], len(graph.entities), len(graph.relations))
    chunks = engine.apply(
        queries,
        nothing if show_known else facts,
        top_x=max(top_x, top_k) if top_x and top_k else 0,
        best=strategy.best,
        complete=strategy.complete,
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    for firings in chunks:
        scores = score(firings, [strategy])[0]
        values = strategy.value(firings, scores)
        asked = firings.queries
        for i in range(len(asked)):
            first, last = firings.query_ptr[i : i + 2]
            # candidates stand in the order of MAX+, which decides between equal scores
            best = first + np.argsort(-scores[first:last], kind="stable")
            if top_k:
                best = best[: top_k + int(np.diff(asked.target_ptr[i : i + 2])[0])]
            head, tail = int(asked.entity[i]), ASKED
            column = 2
            if asked.direction[i]:
                head, tail, column = tail, head, 0
            relation = int(asked.relation[i])
            triples = np.tile(np.array([head, relation, tail], np.int32), (len(best), 1))
            triples[:, column] = firings.candidate[best]
            found = Candidates(firings.candidate[best], values[best])
            yield Answers(head, relation, tail, found, facts.contains(triples))


def rank_triples(
    engine: Engine,
    triples: np.ndarray,
    strategy: Strategy,
    *,
    top_k: int = 100,
    top_x: int = 200,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Iterator[Ranking]:
    """Yield the candidates for the head and for the tail of one triple after the other.

    All facts are left out but for the triple itself, as AnyBURL does it.

    Parameters
    ----------
    engine, strategy, top_k, top_x, threads, memory, quiet
        See `answer`.
    triples : int32[n, 3]
    """
    options: dict[str, Any] = {
        "top_k": top_k,
        "top_x": top_x,
        "threads": threads,
        "memory": memory,
        "quiet": quiet,
    }
    # triples share queries, so many of them at once, if their answers are few
    size = 4096 if 0 < top_k <= 256 else 256
    for start in range(0, len(triples), size):
        block = triples[start : start + size]
        found = {
            (a.head, a.relation, a.tail): a
            for a in answer(engine, Queries.from_triples(block), strategy, **options)
        }
        for head, relation, tail in block.tolist():
            yield Ranking(
                (head, relation, tail),
                _without(found[ASKED, relation, tail], head, top_k),
                _without(found[head, relation, ASKED], tail, top_k),
            )


def _without(answers: Answers, target: int, top_k: int) -> Candidates:
    """Leave out known facts but for the target."""
    entity, value = answers.candidates
    kept = np.flatnonzero(~answers.known | (entity == target))[: top_k or None]
    return Candidates(entity[kept], value[kept])


# --- files -------------------------------------------------------------------------------------


def read_queries(path: str | os.PathLike[str], graph: Graph) -> np.ndarray:
    """Read lines ``head relation ?`` or ``? relation tail``, with tabs or spaces: int32[n, 3].

    What is asked for is `ASKED`. A line may also be a whole triple.

    Raises
    ------
    InputError
        If a line is not as expected, or has a name that is not in the graph.
    """
    rows = []
    lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
    for number, line in enumerate(lines, start=1):
        text = line.decode(errors="replace").strip("\r\n ")
        if not text:
            continue
        words = text.split("\t") if "\t" in text else text.split()
        if len(words) != 3:
            raise InputError(f"{path}:{number}: expected `head relation ?` or `? relation tail`")
        try:
            rows.append(numbers_of(graph, *words))
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
    return np.array(rows, np.int32).reshape(-1, 3)


def numbers_of(
    graph: Graph, head: str | None, relation: str, tail: str | None
) -> tuple[int, int, int]:
    """Return the numbers of names, `ASKED` for a head or tail that is None or ``"?"``.

    Raises
    ------
    InputError
        If a name is not in the graph, or both head and tail are asked for.
    """
    one, two = (
        ASKED if name is None or name == "?" else graph.entities.require(name, "entity")
        for name in (head, tail)
    )
    if one == two == ASKED:
        raise InputError("expected `head relation ?` or `? relation tail`")
    return one, graph.relations.require(relation, "relation"), two


def write_answers(
    path: str | os.PathLike[str], answers: Iterable[Answers], graph: Graph, form: str
) -> None:
    """Write answers one after the other; the file appears when all of them are written.

    Parameters
    ----------
    path : path
    answers : iterable of Answers
    graph : Graph
        Has the names.
    form : str
        ``"tsv"``: head, relation, tail, what was asked for ("tail" or "head"), place from 1, value,
        known (0 or 1), one line for each answer; ``"parquet"``: the same as columns; ``"jsonl"``:
        an object for each query.
    """
    expect_form(form)
    if form == "parquet":
        _write_parquet(path, answers, graph)
        return
    entities, relations = graph.entities.names(), graph.relations.names()
    with writing(path) as file:
        if form == "jsonl":
            for one in answers:
                json.dump(_object(one, entities, relations), file, ensure_ascii=False)
                file.write("\n")
            return
        file.write("\t".join(COLUMNS) + "\n")
        names = [np.array(each, object) for each in (entities, relations, entities, DIRECTIONS)]
        for columns in batches(answers):
            words = [each[ids].tolist() for each, ids in zip(names, columns, strict=False)]
            numbers = [map(str, column.tolist()) for column in columns[len(words) :]]
            file.writelines(
                f"{line}\n" for line in map("\t".join, zip(*words, *numbers, strict=True))
            )


FORMS = ("tsv", "jsonl", "parquet")


def form_of(path: str | os.PathLike[str], otherwise: str) -> str:
    """Return the form of a file by its ending, be it compressed or not."""
    return next((form for form in FORMS if f".{form}" in Path(path).suffixes), otherwise)


def expect_form(form: str) -> None:
    """Raise `InputError` if there is no such form of file."""
    if form not in FORMS:
        expected = f"expected one of {', '.join(FORMS)}{nearest(form, FORMS)}"
        raise InputError(f"{form}: no such format, {expected}")


COLUMNS = ("head", "relation", "tail", "asked", "place", "value", "known")


def batches(answers: Iterable[Answers]) -> Iterator[list[np.ndarray]]:
    """Yield the `COLUMNS` for many answers at once, as numbers."""
    for batch in _batches(answers):
        sizes = [len(one.known) for one in batch]
        asked = np.repeat([one.head == ASKED for one in batch], sizes)
        head, relation, tail = (np.repeat([one[i] for one in batch], sizes) for i in range(3))
        entity = np.concatenate([one.candidates.entity for one in batch])
        yield [
            np.where(asked, entity, head),
            relation,
            np.where(asked, tail, entity),
            asked.astype(np.int8),
            np.concatenate([np.arange(1, size + 1) for size in sizes]),
            np.concatenate([one.candidates.score for one in batch]),
            np.concatenate([one.known for one in batch]).astype(np.int8),
        ]


def _batches(answers: Iterable[Answers]) -> Iterator[list[Answers]]:
    batch: list[Answers] = []
    held = 0
    for one in answers:
        batch.append(one)
        held += 1 + len(one.known)
        if held >= _HELD:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _object(one: Answers, entities: list[str], relations: list[str]) -> dict[str, Any]:
    """Return what JSON holds for a query; what is asked for is null."""
    rows = zip(*map(np.ndarray.tolist, (*one.candidates, one.known)), strict=True)
    return {
        "head": None if one.head == ASKED else entities[one.head],
        "relation": relations[one.relation],
        "tail": None if one.tail == ASKED else entities[one.tail],
        "answers": [
            {"entity": entities[entity], "value": value, "known": known}
            for entity, value, known in rows
        ],
    }


def _write_parquet(path: str | os.PathLike[str], answers: Iterable[Answers], graph: Graph) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    entities, relations, directions = (
        pa.array(names, pa.string())
        for names in (graph.entities.names(), graph.relations.names(), DIRECTIONS)
    )
    text, number = pa.string(), pa.int32()
    types = (text, text, text, text, number, pa.float64(), pa.bool_())
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    tables = (entities, relations, entities, directions)
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as file,
    ):
        for columns in batches(answers):
            named = [names.take(pa.array(ids)) for names, ids in zip(tables, columns, strict=False)]
            rest = [
                pa.array(column).cast(kind)
                for column, kind in zip(columns[4:], types[4:], strict=True)
            ]
            file.write_table(pa.table([*named, *rest], schema=schema))
