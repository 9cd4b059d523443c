"""What rules predict on a graph, and their exact confidence there.

Miners estimate the counts of a rule from samples. Here they are exact, eq. (1) of the paper: a rule
predicts the pairs (x, y) for which its body holds in train; those that train has are correct. What
entities of a grounding may coincide is as the semantics say, but bounds on the search do not count.
A zero rule predicts its constant for every entity of train.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.engine.semantics import Semantics, semantics
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.mining import _counting
from kgagg.mining.bodies import BodyCounter
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import BARE, CYCLIC, FROM_Y, GENERAL, SIDE, XX
from kgagg.util.machine import processors
from kgagg.util.progress import Progress

# bodies that are counted together, so that they share the way along common steps
_BATCH = 128
# rules with one body atom that are counted together
_ROWS = 1 << 14


def reestimate(
    rules: RuleSet,
    graph: Graph,
    meaning: str | Semantics = "anyburl",
    *,
    threads: int | None = None,
    quiet: bool = True,
) -> RuleSet:
    """Return the rules with their exact counts on the train split, ranked again.

    Parameters
    ----------
    rules : RuleSet
        Over the vocabularies of `graph`.
    graph : Graph
    meaning : str or Semantics
        Which entities of a grounding may coincide.
    threads : int, optional
        All processors by default. The result does not depend on it.
    quiet : bool
        Show no progress.
    """
    return _with_counts(rules, *count(rules, graph, meaning, threads=threads, quiet=quiet))


def with_missing_counts(engine: Engine, threads: int | None = None) -> Engine:
    """Return the engine with counts on train for rules that came without statistics.

    By PyClause's semantics they stay as they are: always right.
    """
    rules = engine.rules
    bare = np.flatnonzero(rules.flags & BARE)
    if not len(bare) or engine.semantics.name == "pyclause":
        return engine
    predicted, correct = rules.predicted.copy(), rules.correct.copy()
    counts = count(rules[bare], engine.graph, engine.semantics, threads=threads)
    predicted[bare], correct[bare] = counts
    return Engine(engine.graph, _with_counts(rules, predicted, correct), engine.semantics)


def _with_counts(rules: RuleSet, predicted: np.ndarray, correct: np.ndarray) -> RuleSet:
    """Return the rules with other counts, ranked again."""
    confidence = rules.settings.of(rules.types, predicted, correct)
    order = np.lexsort((rules.line, rules.source, -confidence))
    columns: dict[str, Any] = rules.columns() | {
        # how the old counts were written is of no use for the new ones
        "flags": rules.flags & (SIDE | XX | FROM_Y),
        "predicted": predicted,
        "correct": correct,
        "confidence": confidence,
    }
    columns.pop("pca_predicted", None)
    nothing = np.empty(0, np.int64)
    return dataclasses.replace(
        rules,
        **{name: column[order] for name, column in columns.items()},
        pca_predicted=None,
        written_key=nothing,
        written_ptr=np.zeros(1, np.int64),
        written_blob=nothing.astype(np.uint8),
    )


def count(
    rules: RuleSet,
    graph: Graph,
    meaning: str | Semantics = "anyburl",
    *,
    threads: int | None = None,
    quiet: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Count what each rule predicts on the train split, and how much of it is correct.

    Parameters
    ----------
    rules, graph, meaning, threads, quiet
        See `reestimate`.

    Returns
    -------
    predicted, correct : int64[rules]
    """
    threads = threads or processors()
    meaning = unbounded(meaning)
    predicted, correct = np.zeros((2, len(rules)), np.int64)
    cyclic = rules.kind == CYCLIC
    unary = ~cyclic & (rules.kind != GENERAL) & (rules.length < 2)
    counted = Progress("count", len(rules), "rules", quiet=quiet)
    with counted as progress:
        for part, *counts in itertools.chain(
            _count_unary(rules, graph, np.flatnonzero(unary), meaning, threads),
            _count_cyclic(rules, graph, np.flatnonzero(cyclic), threads),
            _count_others(rules, graph, np.flatnonzero(~cyclic & ~unary), meaning, threads),
        ):
            predicted[part], correct[part] = counts
            progress.add(len(part))
    return predicted, correct


# rows of the rule set, and their counts
_Counts = tuple[np.ndarray, np.ndarray, np.ndarray]


def unbounded(meaning: str | Semantics) -> Semantics:
    """Return semantics without bounds on the search."""
    chosen = semantics(meaning) if isinstance(meaning, str) else meaning
    return dataclasses.replace(chosen, branching=0, discrimination=0)


def _count_unary(
    rules: RuleSet, graph: Graph, rows: np.ndarray, meaning: Semantics, threads: int
) -> Iterator[_Counts]:
    """Count rules with a constant in the head and at most one body atom."""
    facts = graph.adjacency
    arrays = (facts.entity_ptr, facts.segment_key, facts.segment_ptr, facts.neighbours)
    strict = meaning.strict_identity
    open_count = _counting.open_entities(*arrays, 2 * len(graph.relations), strict)
    entities = int(np.count_nonzero(np.diff(facts.entity_ptr)))
    begin = rules.body_ptr[rules.body[rows]]
    has_body = rules.length[rows] > 0
    step = np.zeros(len(rows), np.int32)
    step[has_body] = rules.body_keys[begin[has_body]]

    def run(part: np.ndarray, step: np.ndarray) -> _Counts:
        predicted, correct = np.zeros((2, len(part)), np.int64)
        _counting.count_unary(
            *arrays,
            facts.key_ptr,
            facts.key_entities,
            open_count,
            entities,
            strict,
            rules.kind[part],
            rules.flags[part] & SIDE,
            rules.relation[part],
            rules.head_constant[part],
            rules.body_constant[part],
            step,
            predicted,
            correct,
        )
        return part, predicted, correct

    cuts = range(0, len(rows), _ROWS)
    tasks = [(rows[i : i + _ROWS], step[i : i + _ROWS]) for i in cuts]
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(run, *zip(*tasks, strict=True)) if tasks else ()


def _count_cyclic(
    rules: RuleSet, graph: Graph, rows: np.ndarray, threads: int
) -> Iterator[_Counts]:
    """Count cyclic rules, each body once for all its heads.

    A body and its reverse predict the same pairs, seen from either side.
    """
    if not len(rows):
        return
    ways: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for row, body, relation in zip(
        rows.tolist(), rules.body[rows].tolist(), rules.relation[rows].tolist(), strict=True
    ):
        way = tuple(rules.body_keys[rules.body_ptr[body] : rules.body_ptr[body + 1]].tolist())
        back = tuple(key ^ 1 for key in reversed(way))
        ways.setdefault(min(way, back), []).append((row, 2 * relation + (back < way)))
    longest = max(map(len, ways))
    bodies = sorted(ways)
    cancelled = np.zeros(1, np.uint8)
    counter = BodyCounter(graph, threads)

    def run(batch: Sequence[tuple[int, ...]]) -> _Counts:
        table = np.full((len(batch), longest), -1, np.int32)
        for i, body in enumerate(batch):
            table[i, : len(body)] = body
        _, predicted, correct, _ = counter.count(table, cancelled)
        rules_of = [(i, *pair) for i, body in enumerate(batch) for pair in ways[body]]
        number, row, key = np.array(rules_of, np.int64).T
        return row, predicted.sum(axis=0)[number], correct.sum(axis=0)[number, key]

    batches = [bodies[i : i + _BATCH] for i in range(0, len(bodies), _BATCH)]
    pool = ThreadPoolExecutor(threads)
    try:
        for done in as_completed([pool.submit(run, batch) for batch in batches]):
            yield done.result()
    finally:
        cancelled[0] = 1
        pool.shutdown(cancel_futures=True)


def _count_others(
    rules: RuleSet, graph: Graph, rows: np.ndarray, meaning: Semantics, threads: int
) -> Iterator[_Counts]:
    """Count other rules by applying them to all entities."""
    for part, direction in by_direction(rules, rows):
        predicted, correct = np.zeros((2, len(part)), np.int64)
        for fired, triples in _fire(rules, graph, part, direction, meaning, threads):
            known = graph.adjacency.contains(triples)
            predicted += np.bincount(fired, minlength=len(part))
            correct += np.bincount(fired[known], minlength=len(part))
        yield part, predicted, correct


def predictions(
    rules: RuleSet,
    graph: Graph,
    row: int,
    meaning: str | Semantics = "anyburl",
    threads: int | None = None,
) -> np.ndarray:
    """Return all facts that a rule predicts on the train split, those that it has included.

    Parameters
    ----------
    rules, graph, meaning, threads
        See `reestimate`.
    row : int
        The rule.

    Returns
    -------
    int32[n, 3]
        Head, relation, tail, in lexicographic order.
    """
    ((part, direction),) = by_direction(rules, np.array([row]))
    fired = _fire(rules, graph, part, direction, unbounded(meaning), threads)
    found = [triples for _, triples in fired]
    return np.unique(np.concatenate([np.empty((0, 3), np.int32), *found]), axis=0)


def by_direction(rules: RuleSet, rows: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Cut rows by the direction of the queries that give an entity for the head's variable."""
    heads = (rules.flags[rows] & (SIDE | XX)) != 0
    for direction, part in ((0, rows[~heads]), (1, rows[heads])):
        if len(part):
            yield part, direction


def _fire(
    rules: RuleSet,
    graph: Graph,
    rows: np.ndarray,
    direction: int,
    meaning: Semantics,
    threads: int | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Apply some rules to all entities of train: yield positions in `rows`, and triples."""
    chosen = rules[rows]
    entities = np.flatnonzero(np.diff(graph.adjacency.entity_ptr)).astype(np.int32)
    relations = np.unique(chosen.relation)
    size = len(entities) * len(relations)
    queries = Queries.without_targets(
        np.repeat(relations, len(entities)),
        np.full(size, direction, np.uint8),
        np.tile(entities, len(relations)),
    )
    nothing = Adjacency.build(graph.train[:0], len(graph.entities), len(graph.relations))
    engine = Engine(graph, chosen, meaning)
    for firings in engine.apply(queries, nothing, top_x=0, best=0, threads=threads):
        asked = firings.queries
        query = np.repeat(np.arange(len(asked)), np.diff(firings.query_ptr))
        ends = [asked.entity[query], firings.candidate]
        head, tail = ends[::-1] if direction else ends
        triples = np.stack([head, asked.relation[query], tail], axis=1)
        row = np.repeat(np.arange(len(firings)), np.diff(firings.rule_ptr))
        yield firings.rules, triples[row]
