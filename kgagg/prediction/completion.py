"""Complete a graph: the best new facts over all queries of some relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import at_least
from kgagg.graph.graph import Graph
from kgagg.prediction.calibration import Calibration
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score
from kgagg.util.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("head", "relation", "tail", "score", "probability", "rules", "rule")

_TRIPLE = ("relation", "head", "tail")
# a new fact, its score, how many rules predict it, and the best of these
FACT = np.dtype(
    [
        *((name, np.int32) for name in _TRIPLE),
        ("score", np.float64),
        ("rules", np.int32),
        ("rule", np.int32),
    ]
)


@dataclass(frozen=True)
class Predictions:
    """New facts, best first.

    Attributes
    ----------
    engine : Engine
    facts : FACT[n]
    probability : float64[n]
        NaN without a calibration.
    """

    engine: Engine
    facts: np.ndarray
    probability: np.ndarray

    def __len__(self) -> int:
        return len(self.facts)

    def to_pandas(self) -> pd.DataFrame:
        """Return a table by name, with the columns of `COLUMNS`."""
        import pandas as pd

        graph, facts = self.engine.graph, self.facts
        entities = np.array(graph.entities.names(), object)
        columns: Sequence[Any] = (
            entities[facts["head"]],
            np.array(graph.relations.names(), object)[facts["relation"]],
            entities[facts["tail"]],
            facts["score"],
            self.probability,
            facts["rules"],
            [self.engine.rules.text(row) for row in facts["rule"].tolist()],
        )
        return graph.labelled(pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))))


def chosen_relations(graph: Graph, names: Sequence[str] | None) -> np.ndarray:
    """Return the numbers of relations, of all if none are named: int32[n].

    Raises
    ------
    InputError
        If a name is not in the graph, with the nearest ones.
    """
    if not names:
        return np.arange(len(graph.relations), dtype=np.int32)
    numbers = [graph.relations.require(name, "relation") for name in dict.fromkeys(names)]
    return np.array(numbers, np.int32)


def predict(
    engine: Engine,
    strategy: Strategy,
    relations: np.ndarray,
    *,
    top: int = 1000,
    min_score: float = -np.inf,
    calibration: Calibration | None = None,
    top_x: int = 200,
    allowed: np.ndarray | None = None,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Predictions:
    """Find the facts with the highest scores that are in no split.

    Every entity of train is queried as the head and as the tail of every relation; a fact that
    answers both queries has the higher of the two scores. Of facts with equal scores those come
    first whose relation, head and tail have smaller numbers.

    Parameters
    ----------
    engine : Engine
    strategy : Strategy
    relations : int32[n]
        See `chosen_relations`.
    top : int
        How many facts to find at most; 0 for all. No more than about this many are ever held.
    min_score : float
        Only facts with at least this score.
    calibration : Calibration, optional
        Gives the probabilities.
    allowed : bool[2, entities], optional
        Which entities may be tails, and which heads.
    top_x, threads, memory, quiet
        See `Engine.apply`.
    """
    at_least("top", top, 0)
    graph = engine.graph
    facts = graph.facts
    entities = np.unique(graph.train[:, ::2]).astype(np.int32)
    # who may be a head is asked for tails
    given = (
        [entities] * 2 if allowed is None else [entities[one[entities]] for one in allowed[::-1]]
    )
    best = _Best(top, min_score)
    total = sum(map(len, given)) * len(relations)
    with Progress("predict", total, "queries", quiet=quiet) as progress:
        for relation in relations.tolist():
            chunks = engine.apply(
                _all_queries(given, relation),
                facts,
                allowed=allowed,
                top_x=top_x,
                best=strategy.best,
                complete=strategy.complete,
                threads=threads,
                memory=memory,
            )
            for firings in chunks:
                best.add(firings, strategy.display(firings, score(firings, [strategy])[0]))
                progress.add(len(firings.queries))
    found = best.found()
    probability = np.full(len(found), np.nan)
    return Predictions(engine, found, calibration(found["score"]) if calibration else probability)


def _all_queries(given: Sequence[np.ndarray], relation: int) -> Queries:
    """Ask for the tails of some entities, then for the heads of others."""
    sizes = [len(entities) for entities in given]
    return Queries.without_targets(
        np.full(sum(sizes), relation, np.int32),
        np.repeat(np.array([0, 1], np.uint8), sizes),
        np.concatenate(given),
    )


class _Best:
    """The facts with the highest scores so far.

    What is added waits until there is as much of it as is kept; then all but the best is dropped,
    and the last of these bars what comes after.
    """

    def __init__(self, top: int, min_score: float) -> None:
        self._top, self._bar = top, min_score
        self._kept, self._waiting = np.empty(0, FACT), list[np.ndarray]()

    def add(self, firings: Firings, scores: np.ndarray) -> None:
        rows = np.flatnonzero(scores >= self._bar)
        queries = firings.queries
        query = np.searchsorted(firings.query_ptr, rows, "right") - 1
        given, answer = queries.entity[query], firings.candidate[rows]
        heads = queries.direction[query] == 1
        facts = np.empty(len(rows), FACT)
        facts["relation"] = queries.relation[query]
        facts["head"] = np.where(heads, answer, given)
        facts["tail"] = np.where(heads, given, answer)
        facts["score"] = scores[rows]
        facts["rules"] = firings.count[rows]
        facts["rule"] = firings.rules[firings.rule_ptr[rows]]
        self._waiting.append(facts)
        if self._top and sum(map(len, self._waiting)) > max(self._top, _WAITING):
            kept = self.found()
            if len(kept) == self._top:
                self._bar = kept["score"][-1]

    def found(self) -> np.ndarray:
        every = np.concatenate([self._kept, *self._waiting])
        # each fact once, with its highest score
        every = every[
            np.lexsort((-every["score"], every["tail"], every["head"], every["relation"]))
        ]
        same = np.all([every[name][1:] == every[name][:-1] for name in _TRIPLE], axis=0)
        every = every[np.flatnonzero(np.append(True, ~same)[: len(every)])]
        order = np.argsort(-every["score"], kind="stable")
        self._kept, self._waiting = every[order[: self._top or None]], []
        return self._kept


# sorting a few facts after each chunk would take longer than finding them
_WAITING = 1 << 16
