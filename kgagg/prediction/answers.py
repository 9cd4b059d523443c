"""Answer queries: the best candidates of each, by a strategy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgagg.data.triples import CSV, PARQUET, RDF, ending, open_triples
from kgagg.engine.engine import Engine
from kgagg.engine.queries import DIRECTIONS, MISSING, Queries
from kgagg.errors import InputError, at_least
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.prediction.rankings import Candidates, Ranking
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score
from kgagg.util.files import line_blocks

# of a table of answers
COLUMNS = ("head", "relation", "tail", "direction", "rank", "score", "known")
# what a query may ask for
ASKED = (*DIRECTIONS, "relation")
# how many answers are made ready to be written at once, those to the last query aside
_HELD = 1 << 16


class Answers(NamedTuple):
    """The answers to one query, best first.

    Attributes
    ----------
    head, relation, tail : int
        `MISSING` for the one that is predicted.
    candidates : Candidates
        Entities, or relations if the relation is predicted, and the scores to show for them (see
        `Strategy.display`).
    known : bool[n]
        Which of them are known facts.
    """

    head: int
    relation: int
    tail: int
    candidates: Candidates
    known: np.ndarray


def missing(
    graph: Graph, relation: str, ask: str = "tails", allowed: np.ndarray | None = None
) -> np.ndarray:
    """Return the queries for the missing facts of a relation: int32[n, 3].

    Parameters
    ----------
    graph : Graph
    relation : str
    ask : str
        ``"tails"`` of all its heads in train, ``"heads"`` of all its tails, or ``"both"``.
    allowed : bool[2, entities], optional
        Which entities may be tails, and which heads (see `Engine.apply`).

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
            if allowed is not None:
                entities = entities[allowed[int(column == 0), entities]]
            rows = np.full((len(entities), 3), MISSING, np.int32)
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
    allowed: np.ndarray | None = None,
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
        The most answers to a query, not counting its targets; 0 for all.
    top_x : int
        See `Engine.apply`; not less than `top_k`.
    allowed : bool[2, entities], optional
        See `Engine.apply`: which entities may be answers.
    show_known : bool
        Known facts are answers too. Otherwise the facts of all splits are filtered.
    threads, memory, quiet
        See `Engine.apply`.
    """
    at_least("top_k", top_k, 0)
    graph = engine.graph
    facts = graph.facts
    nothing = Adjacency.build(graph.train[:0], len(graph.entities), len(graph.relations))
    chunks = engine.apply(
        queries,
        nothing if show_known else facts,
        allowed=allowed,
        top_x=max(top_x, top_k) if top_x and top_k else 0,
        best=strategy.best,
        complete=strategy.complete,
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    for firings in chunks:
        scores = score(firings, [strategy])[0]
        shown = strategy.display(firings, scores)
        asked = firings.queries
        for i in range(len(asked)):
            first, last = firings.query_ptr[i : i + 2]
            # candidates are in the order of MAX+, which decides between equal scores
            best = first + np.argsort(-scores[first:last], kind="stable")
            if top_k:
                best = best[: top_k + int(np.diff(asked.target_ptr[i : i + 2])[0])]
            head, tail = int(asked.entity[i]), MISSING
            column = 2
            if asked.direction[i]:
                head, tail, column = tail, head, 0
            relation = int(asked.relation[i])
            triples = np.tile(np.array([head, relation, tail], np.int32), (len(best), 1))
            triples[:, column] = firings.candidate[best]
            found = Candidates(firings.candidate[best], shown[best])
            yield Answers(head, relation, tail, found, facts.contains(triples))


def rank_triples(
    engine: Engine,
    triples: np.ndarray,
    strategy: Strategy,
    *,
    top_k: int = 100,
    top_x: int = 200,
    allowed: np.ndarray | None = None,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Iterator[Ranking]:
    """Yield the candidates for the head and for the tail of one triple after the other.

    All facts but the triple itself are filtered, as in AnyBURL.

    Parameters
    ----------
    engine, strategy, top_k, top_x, allowed, threads, memory, quiet
        See `answer`.
    triples : int32[n, 3]
    """
    options: dict[str, Any] = {
        "top_k": top_k,
        "top_x": top_x,
        "allowed": allowed,
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
                _without(found[MISSING, relation, tail], head, top_k),
                _without(found[head, relation, MISSING], tail, top_k),
            )


def _without(answers: Answers, target: int, top_k: int) -> Candidates:
    """Filter known facts except the target."""
    entity, scores = answers.candidates
    kept = np.flatnonzero(~answers.known | (entity == target))[: top_k or None]
    return Candidates(entity[kept], scores[kept])


# --- files -------------------------------------------------------------------------------------


def read_queries(path: str | os.PathLike[str], graph: Graph) -> np.ndarray:
    """Read lines ``head relation ?``, ``? relation tail`` or ``head ? tail``: int32[n, 3].

    Names are separated by tabs or spaces; or the file is CSV, Parquet or RDF, as a graph may be.
    What is to be predicted is `MISSING`. A line may also be a complete triple.

    Raises
    ------
    InputError
        If a line is not as expected, or has a name that is not in the graph.
    """
    rows = []
    table = ending(Path(path)) in (*CSV, *RDF, *PARQUET)
    blocks = open_triples(path, "keep").blocks if table else line_blocks(path)
    lines = (line for block in blocks for line in block.split(b"\n")[:-1])
    for number, line in enumerate(lines, start=1):
        text = line.decode(errors="replace").strip("\r\n ")
        if not text:
            continue
        words = text.split("\t") if "\t" in text else text.split()
        if len(words) != 3:
            raise InputError(f"{path}:{number}: expected {_FORMS}")
        try:
            rows.append(numbers_of(graph, *words))
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
    return np.array(rows, np.int32).reshape(-1, 3)


def numbers_of(
    graph: Graph, head: str | None, relation: str | None, tail: str | None
) -> tuple[int, int, int]:
    """Return the numbers of names, `MISSING` for what is None or ``"?"``.

    Raises
    ------
    InputError
        If a name is not in the graph, or more than one is missing.
    """
    names = (head, relation, tail)
    kinds = ((graph.entities, "entity"), (graph.relations, "relation"), (graph.entities, "entity"))
    one, two, three = (
        MISSING if name is None or name == "?" else vocabulary.require(name, kind)
        for name, (vocabulary, kind) in zip(names, kinds, strict=True)
    )
    if (one, two, three).count(MISSING) > 1:
        raise InputError(f"expected {_FORMS}")
    return one, two, three


_FORMS = "`head relation ?`, `? relation tail` or `head ? tail`"


def read_triples(path: str | os.PathLike[str], graph: Graph) -> np.ndarray:
    """Read complete triples of the names of a graph, with tabs or spaces: int32[n, 3].

    Raises
    ------
    InputError
        If a line is not as expected, or has a name that is not in the graph.
    """
    triples = read_queries(path, graph)
    if (triples == MISSING).any():
        raise InputError(f"{path}: has a `?`, expected head, relation and tail on each line")
    return triples


def batches(answers: Iterable[Answers]) -> Iterator[list[np.ndarray]]:
    """Yield the `COLUMNS` for many answers at once, as numbers."""
    for batch in _batches(answers):
        sizes = [len(one.known) for one in batch]
        head, relation, tail = (np.repeat([one[i] for one in batch], sizes) for i in range(3))
        found = np.concatenate([one.candidates.entity for one in batch])
        asked = np.select([tail == MISSING, head == MISSING], [0, 1], 2)
        yield [
            *(np.where(each == MISSING, found, each) for each in (head, relation, tail)),
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
