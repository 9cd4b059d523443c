"""Complete a graph: the best new facts over all queries of some relations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.aggregation import Strategy, score
from kgagg.answering import all_facts, expect_form
from kgagg.calibrating import Calibration
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Firings, Queries
from kgagg.files import replacing, writing
from kgagg.graph import Graph
from kgagg.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("head", "relation", "tail", "value", "probability", "rules", "rule")

_TRIPLE = ("relation", "head", "tail")
# a new fact, what the strategy shows for it, how many rules predict it, and the best of these
FACT = np.dtype(
    [
        *((name, np.int32) for name in _TRIPLE),
        ("value", np.float64),
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
            facts["value"],
            self.probability,
            facts["rules"],
            [self.engine.rules.text(row) for row in facts["rule"].tolist()],
        )
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


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
    least: float = -np.inf,
    calibration: Calibration | None = None,
    top_x: int = 200,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Predictions:
    """Find the facts with the greatest values that are in no split.

    Every entity of train is asked for as the head and as the tail of every relation; a fact that
    answers both queries has the greater of the two values. Of facts with equal values those come
    first whose relation, head and tail have smaller numbers.

    Parameters
    ----------
    engine : Engine
    strategy : Strategy
    relations : int32[n]
        See `chosen_relations`.
    top : int
        How many facts to find at most; 0 for all. No more than about this many are ever held.
    least : float
        Only facts with at least this value.
    calibration : Calibration, optional
        Gives the probabilities.
    top_x, threads, memory, quiet
        See `Engine.apply`.
    """
    graph = engine.graph
    facts = all_facts(graph)
    entities = np.unique(graph.train[:, ::2]).astype(np.int32)
    best = _Best(top, least)
    total = 2 * len(entities) * len(relations)
    with Progress("predict", total, "queries", quiet=quiet) as progress:
        for relation in relations.tolist():
            chunks = engine.apply(
                _all_queries(entities, relation),
                facts,
                top_x=top_x,
                best=strategy.best,
                complete=strategy.complete,
                threads=threads,
                memory=memory,
            )
            for firings in chunks:
                best.add(firings, strategy.value(firings, score(firings, [strategy])[0]))
                progress.add(len(firings.queries))
    found = best.found()
    probability = np.full(len(found), np.nan)
    return Predictions(engine, found, calibration(found["value"]) if calibration else probability)


def _all_queries(entities: np.ndarray, relation: int) -> Queries:
    """Ask for the tails, then for the heads, that a relation has with each entity."""
    size = 2 * len(entities)
    none = np.empty(0, np.int32)
    return Queries(
        np.full(size, relation, np.int32),
        np.repeat(np.array([0, 1], np.uint8), len(entities)),
        np.tile(entities, 2),
        np.zeros(size + 1, np.int64),
        none,
        none,
    )


class _Best:
    """The facts with the greatest values so far.

    What is added waits until there is as much of it as is kept; then all but the best is dropped,
    and the last of these bars what comes after.
    """

    def __init__(self, top: int, least: float) -> None:
        self._top, self._bar = top, least
        self._kept, self._waiting = np.empty(0, FACT), list[np.ndarray]()

    def add(self, firings: Firings, value: np.ndarray) -> None:
        rows = np.flatnonzero(value >= self._bar)
        queries = firings.queries
        query = np.searchsorted(firings.query_ptr, rows, "right") - 1
        given, answer = queries.entity[query], firings.candidate[rows]
        heads = queries.direction[query] == 1
        facts = np.empty(len(rows), FACT)
        facts["relation"] = queries.relation[query]
        facts["head"] = np.where(heads, answer, given)
        facts["tail"] = np.where(heads, given, answer)
        facts["value"] = value[rows]
        facts["rules"] = firings.count[rows]
        facts["rule"] = firings.rules[firings.rule_ptr[rows]]
        self._waiting.append(facts)
        if self._top and sum(map(len, self._waiting)) > max(self._top, _WAITING):
            kept = self.found()
            if len(kept) == self._top:
                self._bar = kept["value"][-1]

    def found(self) -> np.ndarray:
        every = np.concatenate([self._kept, *self._waiting])
        # each fact once, with its greatest value
        every = every[
            np.lexsort((-every["value"], every["tail"], every["head"], every["relation"]))
        ]
        same = np.all([every[name][1:] == every[name][:-1] for name in _TRIPLE], axis=0)
        every = every[np.flatnonzero(np.append(True, ~same)[: len(every)])]
        order = np.argsort(-every["value"], kind="stable")
        self._kept, self._waiting = every[order[: self._top or None]], []
        return self._kept


# sorting a few facts after each chunk would take longer than finding them
_WAITING = 1 << 16


# --- files -------------------------------------------------------------------------------------


def write_predictions(
    path: str | os.PathLike[str], predictions: Predictions, form: str = "tsv"
) -> None:
    """Write facts, one after the other, with the columns of `COLUMNS`.

    Parameters
    ----------
    path : path
    predictions : Predictions
    form : str
        ``"tsv"``, ``"jsonl"`` or ``"parquet"``; a probability that is not known is empty or null.
    """
    expect_form(form)
    if form == "parquet":
        with replacing(path) as temporary:
            predictions.to_pandas().to_parquet(temporary, compression="zstd", index=False)
        return
    with writing(path) as file:
        file.writelines(lines(predictions, form))


def lines(predictions: Predictions, form: str) -> Iterator[str]:
    """Yield the lines of a file: ``"tsv"``, with a header, or ``"jsonl"``."""
    if form == "tsv":
        yield "\t".join(COLUMNS) + "\n"
    table = predictions.to_pandas()
    for row in table.astype(object).where(table.notna(), None).itertuples(index=False, name=None):
        if form == "jsonl":
            yield json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n"
        else:
            yield "\t".join("" if cell is None else str(cell) for cell in row) + "\n"
