"""Ranking files in AnyBURL's format, which PyClause and SAFRAN write and read too.

Three lines for each triple, the triple with spaces, its candidates with tabs, best first::

    anna worksFor google
    Heads: anna	0.88	lisa	0.67
    Tails: google	0.88

The order in the file is the ranking; printed scores may be rounded. So a file can be evaluated as
AnyBURL's evaluation does it, by order, or by its scores, with ties.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.util.files import line_blocks, printing_or_writing


class Candidates(NamedTuple):
    """Answers to one query, best first.

    Attributes
    ----------
    entity : int32[n]
    score : float64[n]
    """

    entity: np.ndarray
    score: np.ndarray


class Ranking(NamedTuple):
    """The candidates for the head and for the tail of one triple (head, relation, tail)."""

    triple: tuple[int, int, int]
    heads: Candidates
    tails: Candidates


def write_rankings(
    path: str | os.PathLike[str] | None,
    rankings: Iterable[Ranking],
    entities: Vocabulary,
    relations: Vocabulary,
) -> None:
    """Write rankings one by one, or print them without a path.

    The file appears when all of them are written.

    Scores are written with as many digits as it takes to read the same number back.
    """
    names = entities.names()

    def line(candidates: Candidates) -> str:
        pairs = zip(candidates.entity.tolist(), candidates.score.tolist(), strict=True)
        return "".join(f"{names[entity]}\t{score!r}\t" for entity, score in pairs)

    with printing_or_writing(path) as file:
        for (head, relation, tail), heads, tails in rankings:
            file.write(f"{names[head]} {relations[relation]} {names[tail]}\n")
            file.write(f"Heads: {line(heads)}\nTails: {line(tails)}\n")


def read_rankings(
    path: str | os.PathLike[str], entities: Vocabulary, relations: Vocabulary
) -> Iterator[Ranking]:
    """Read rankings one by one.

    Names with spaces are understood wherever the vocabularies leave one way to read the line.

    Raises
    ------
    InputError
        If a line is not as expected, or has a name that is not in the vocabularies.
    """
    ids = {name: i for i, name in enumerate(entities.names())}

    def candidates(number: int, line: str, label: str) -> Candidates:
        if not line.startswith(label):
            raise InputError(f"{path}:{number}: expected a line that starts with {label!r}")
        text = line.removeprefix(label).removeprefix(" ").removesuffix("\t")
        fields = text.split("\t") if text else []
        try:
            entity = np.array([ids[name] for name in fields[::2]], np.int32)
            score = np.array([float(text) for text in fields[1::2]])
        except KeyError as error:
            name = error.args[0]
            raise InputError(
                f"{path}:{number}: unknown entity {name!r}{entities.nearest(name)}"
            ) from None
        except ValueError:
            raise InputError(f"{path}:{number}: expected names and scores in turn") from None
        if len(entity) != len(score):
            raise InputError(f"{path}:{number}: expected a score after each name")
        return Candidates(entity, score)

    lines = _lines(path)
    for number, line in lines:
        triple = _triple(f"{path}:{number}", line, ids, relations)
        heads = candidates(*next(lines, (number + 1, "")), "Heads:")
        tails = candidates(*next(lines, (number + 2, "")), "Tails:")
        yield Ranking(triple, heads, tails)


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Read the lines that are not empty, with their numbers."""
    lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode().rstrip("\r")
        except UnicodeDecodeError:
            raise InputError(f"{path}:{number}: expected text in UTF-8") from None
        if text:
            yield number, text


def _triple(
    place: str, line: str, entities: dict[str, int], relations: Vocabulary
) -> tuple[int, int, int]:
    """Read ``head relation tail``, trying all ways to cut a line with more than two spaces."""
    words = line.split(" ")
    cuts = itertools.combinations(range(1, len(words)), 2)
    parts = ((words[:i], words[i:j], words[j:]) for i, j in cuts)
    readings = [
        (entities[head], relations.id(relation), entities[tail])
        for head, relation, tail in (map(" ".join, part) for part in parts)
        if head in entities and tail in entities and relation in relations
    ]
    if len(readings) > 1:
        raise InputError(f"{place}: {line!r} can be read in {len(readings)} ways")
    if not readings:
        raise InputError(f"{place}: expected a head, a relation and a tail of the graph: {line!r}")
    return readings[0]


def rank_rankings(
    rankings: Iterable[Ranking],
    entities: Vocabulary,
    relations: Vocabulary,
    known: Adjacency,
    *,
    name: str,
    by_score: bool = False,
    top_k: int = 100,
) -> Ranks:
    """Find the filtered rank of each target in a list of candidates.

    Parameters
    ----------
    rankings : iterable of Ranking
    entities, relations : Vocabulary
    known : Adjacency
        The facts of all splits. Candidates that are facts are left out, but for the target itself.
    name : str
        The name of the strategy in the result.
    by_score : bool
        Rank by score, with ties. Otherwise by order, as AnyBURL's evaluation does.
    top_k : int
        How many candidates of a list are looked at, those left out included (AnyBURL's TOP_K). A
        target further down has no rank.
    """
    triples, optimistic, pessimistic = [], [], []
    for triple, heads, tails in rankings:
        triples.append(triple)
        for column, candidates in ((2, tails), (0, heads)):
            entity, score = (values[:top_k] for values in candidates)
            facts = np.tile(np.array(triple, np.int32), (len(entity), 1))
            facts[:, column] = entity
            target = entity == triple[column]
            score = score if by_score else -np.arange(len(entity), dtype=np.float64)
            others = score[~known.contains(facts) & ~target]
            best = score[target].max(initial=-np.inf)
            found = target.any()
            optimistic.append(found * (1 + np.count_nonzero(others > best)))
            pessimistic.append(found * (1 + np.count_nonzero(others >= best)))
    shape = (1, len(triples), 2)
    return Ranks(
        entities,
        relations,
        np.array(triples, np.int32).reshape(-1, 3),
        (name,),
        np.array(optimistic, np.int32).reshape(shape),
        np.array(pessimistic, np.int32).reshape(shape),
    )
