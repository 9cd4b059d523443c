"""Materialise rules: all new facts that they predict, one relation after the other.

A fact counts the rules whose body holds for it, as `kgagg.mining.counting` does, without bounds on
the search. A rule is asked by the side of its head's variable: what it predicts for every entity of
train there is all that it predicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.engine.semantics import Semantics
from kgagg.graph.graph import Graph
from kgagg.mining.counting import by_direction, unbounded
from kgagg.rules.ruleset import RuleSet
from kgagg.util.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("head", "relation", "tail", "rules", "confidence", "rule")

# head, tail, how many rules predict the fact, and the best of them
_FACT = np.dtype([("head", np.int32), ("tail", np.int32), ("rules", np.int32), ("rule", np.int32)])


def materialise(
    graph: Graph,
    rules: RuleSet,
    relations: np.ndarray,
    meaning: str | Semantics = "anyburl",
    *,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Iterator[pd.DataFrame]:
    """Yield all facts that rules predict and no split has, as tables by name, at least one.

    Facts are ordered by relation, head and tail, each of them once. Of all facts, only those of one
    relation are held that rules with a constant as head predict.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet
        Over the vocabularies of `graph`.
    relations : int32[n]
        Whose facts.
    meaning : str or Semantics
        Which entities of a grounding may coincide.
    threads, memory, quiet
        See `Engine.apply`.

    Yields
    ------
    DataFrame
        With the columns of `COLUMNS`: ``rules`` is how many predict the fact, ``rule`` the best of
        them, ``confidence`` its confidence.
    """
    meaning = unbounded(meaning)
    known = graph.facts
    entities = np.flatnonzero(np.diff(graph.adjacency.entity_ptr)).astype(np.int32)
    parts = {
        direction: (rows, Engine(graph, rules[rows], meaning))
        for rows, direction in by_direction(rules, np.arange(len(rules)))
    }
    options: dict[str, Any] = {"threads": threads, "memory": memory}

    def facts(direction: int, relation: int) -> Iterator[np.ndarray]:
        """Yield what rules of one side predict, in the order of the entities that are given."""
        if direction not in parts:
            return
        rows, engine = parts[direction]
        if not (engine.rules.relation == relation).any():
            return
        queries = Queries.without_targets(
            np.full(len(entities), relation, np.int32),
            np.full(len(entities), direction, np.uint8),
            entities,
        )
        for firings in engine.apply(queries, known, top_x=0, best=1, **options):
            given = np.repeat(firings.queries.entity, np.diff(firings.query_ptr))
            found = np.empty(len(firings), _FACT)
            found["head"], found["tail"] = given, firings.candidate
            if direction:
                found["head"], found["tail"] = firings.candidate, given
            found["rules"] = firings.count
            found["rule"] = rows[firings.rules[firings.rule_ptr[:-1]]]
            yield found

    yield _named(graph, rules, 0, np.empty(0, _FACT))
    with Progress("materialise", len(relations), "relations", quiet=quiet) as progress:
        for relation in relations.tolist():
            held = _merged([np.empty(0, _FACT), *facts(1, relation)])
            for found in facts(0, relation):
                # all facts of these heads are there
                cut = np.searchsorted(held["head"], found["head"].max(initial=-1), "right")
                yield _named(graph, rules, relation, _merged([held[:cut], found]))
                held = held[cut:]
            if len(held):
                yield _named(graph, rules, relation, held)
            progress.add(1)


def _merged(parts: list[np.ndarray]) -> np.ndarray:
    """Join facts, each of them once, by head and tail: _FACT[n]."""
    every = np.concatenate(parts)
    every = every[np.lexsort((every["rule"], every["tail"], every["head"]))]
    new = np.ones(len(every), np.bool_)
    new[1:] = (np.diff(every["head"]) != 0) | (np.diff(every["tail"]) != 0)
    start = np.flatnonzero(new)
    found = every[start]
    if len(found):
        found["rules"] = np.add.reduceat(every["rules"], start)
    return found


def _named(graph: Graph, rules: RuleSet, relation: int, facts: np.ndarray) -> pd.DataFrame:
    """Return facts of one relation by name."""
    import pandas as pd

    names = graph.entities
    ends = {side: [names[number] for number in facts[side].tolist()] for side in ("head", "tail")}
    used, row = np.unique(facts["rule"], return_inverse=True)
    texts = np.array([line.split("\t")[-1] for line in rules.text_lines(used)], object)
    columns = (
        np.array(ends["head"], object),
        np.full(len(facts), graph.relations[relation], object),
        np.array(ends["tail"], object),
        facts["rules"],
        rules.confidence[facts["rule"]],
        texts[row],
    )
    return graph.labelled(pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))))
