"""Groundings: the facts with which a rule predicts a fact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from kgagg.engine.semantics import Semantics
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import CONSTANT, CYCLIC, DANGLING, GENERAL, ME_ID, SIDE, XX, ZERO

# head, relation, tail, by number
Fact = tuple[int, int, int]


def groundings(
    graph: Graph,
    rules: RuleSet,
    row: int,
    head: int,
    tail: int,
    semantics: Semantics,
    direction: int = 0,
) -> Iterator[tuple[Fact, ...]]:
    """Yield the ways in which a rule predicts (head, tail): the facts of train that make it fire.

    There is one if and only if the engine says that the rule predicts the fact, but for the bound
    on how many entities a rule may predict. A zero rule has one that is empty.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet
        Over the vocabularies of `graph`.
    row : int
        The rule.
    head, tail : int
        Entities.
    semantics : Semantics
    direction : int
        0 for the answer `tail` to (head, relation, ?), 1 for `head` to (?, relation, tail).
    """
    kind, facts = int(rules.kind[row]), graph.adjacency
    keys = rules.body_keys[rules.body_ptr[rules.body[row]] : rules.body_ptr[rules.body[row] + 1]]
    steps: list[int] = keys.tolist()
    if kind == GENERAL:
        atoms = list(zip(steps[::3], steps[1::3], steps[2::3], strict=True))
        yield from _general(facts, atoms, {0: head, 1: tail})
    elif kind == CYCLIC:
        start, end = head, tail
        if direction:
            start, end, steps = tail, head, [key ^ 1 for key in reversed(steps)]
        if start != end:
            for path in _paths(facts, steps, [start], {end}, end, semantics.branching):
                found = _facts_of(steps, path)
                yield found[::-1] if direction else found
    else:
        yield from _acyclic(facts, rules, row, steps, head, tail, semantics, direction)


def _acyclic(
    facts: Adjacency,
    rules: RuleSet,
    row: int,
    steps: list[int],
    head: int,
    tail: int,
    semantics: Semantics,
    direction: int,
) -> Iterator[tuple[Fact, ...]]:
    """Yield the groundings of a rule with a constant in its head."""
    kind, side = int(rules.kind[row]), int(rules.flags[row] & SIDE)
    constant = int(rules.head_constant[row])
    x, other = (tail, head) if side else (head, tail)
    if constant != other and not (constant == ME_ID and x == other):
        return
    backward = direction != side
    if constant == ME_ID:
        if rules.flags[row] & XX:
            backward = semantics.reflexive_heads_only and direction == 0
        # such a rule answers for the entity that is given, and the other way there is nothing
        if backward:
            return
    if kind == ZERO:
        if not backward:
            yield ()
        return
    end = int(rules.body_constant[row]) if kind == CONSTANT else None
    strict = semantics.strict_identity
    if len(steps) == 1 and not strict:
        if x != constant:
            reached = facts.step(x, steps[0]).tolist()
            yield from (_facts_of(steps, [x, y]) for y in reached if end in (None, y))
        return
    if x == constant and (strict or backward or kind != DANGLING):
        return
    # towards the variable, the dangling entity may be the constant of the head
    barred = set() if end is None and strict and backward else {constant}
    for path in _paths(facts, steps, [x], {constant}, end, 0, barred - {end}):
        yield _facts_of(steps, path)


def _paths(
    facts: Adjacency,
    steps: Sequence[int],
    path: list[int],
    barred: set[int],
    end: int | None,
    branching: int,
    barred_end: set[int] | None = None,
) -> Iterator[list[int]]:
    """Yield the ways to walk on along `steps`, all entities different.

    Parameters
    ----------
    path : list of int
        The entities so far.
    barred : set of int
        Entities that may not be inner ones.
    end : int or None
        Where to end; None for anywhere.
    branching : int
        No step but the last is taken from an entity with more neighbours; 0 takes all.
    barred_end : set of int
        Entities that may not be the last one.
    """
    depth = len(path) - 1
    reached = facts.step(path[-1], steps[depth])
    if depth == len(steps) - 1:
        for y in [end] if end is not None else reached.tolist():
            if y not in path and y not in (barred_end or ()) and _has(reached, y):
                yield [*path, y]
        return
    if 0 < branching < len(reached):
        return
    if depth == len(steps) - 2 and end is not None:
        # only what leads to the end is worth a step
        reached = np.intersect1d(reached, facts.step(end, steps[-1] ^ 1), assume_unique=True)
    for y in reached.tolist():
        if y not in path and y not in barred and y != end:
            yield from _paths(facts, steps, [*path, y], barred, end, branching, barred_end)


def _has(ascending: np.ndarray, value: int) -> bool:
    place = int(np.searchsorted(ascending, value))
    return place < len(ascending) and bool(ascending[place] == value)


def _general(
    facts: Adjacency, atoms: list[tuple[int, int, int]], value: dict[int, int]
) -> Iterator[tuple[Fact, ...]]:
    """Yield the groundings of a body that is not a path; `value` has the entities of variables."""
    if len(set(value.values())) < len(value):
        return
    for relation, one, two in atoms:
        for key, given, free in ((2 * relation, one, two), (2 * relation + 1, two, one)):
            if given in value and free not in value:
                for entity in facts.step(value[given], key).tolist():
                    yield from _general(facts, atoms, value | {free: entity})
                return
    found = tuple((value[one], relation, value[two]) for relation, one, two in atoms)
    if facts.contains(np.array(found, np.int32)).all():
        yield found


def _facts_of(steps: Sequence[int], path: Sequence[int]) -> tuple[Fact, ...]:
    pairs = zip(steps, itertools.pairwise(path), strict=True)
    return tuple((b, key >> 1, a) if key & 1 else (a, key >> 1, b) for key, (a, b) in pairs)
