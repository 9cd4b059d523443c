"""Explain a fact: the rules that predict it, what makes them fire, and where it ranks."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgagg.aggregation import Strategy, _kernels, score
from kgagg.aggregation.ranking import rank_targets
from kgagg.answering import all_facts, make_queries
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.semantics import Semantics
from kgagg.errors import InputError
from kgagg.evaluation import DIRECTIONS
from kgagg.files import line_blocks
from kgagg.graph import SPLITS, Adjacency, Graph
from kgagg.rules import CONSTANT, CYCLIC, DANGLING, GENERAL, ME_ID, SIDE, XX, ZERO, RuleSet, anyburl
from kgagg.vocabulary import Vocabulary

# head, relation, tail, by number
Fact = tuple[int, int, int]
# how many rules that do not fire are tried for what would bring the fact to the first place
_TRIED = 200


# --- groundings --------------------------------------------------------------------------------


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
        Entities that are no inner ones.
    end : int or None
        Where to end; None for anywhere.
    branching : int
        No step but the last is taken from an entity with more neighbours; 0 takes all.
    barred_end : set of int
        Entities that are not the last one.
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
    """Yield the groundings of a body that is no path; `value` has the entities of variables."""
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


# --- explanations ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reason:
    """A rule that predicts the fact.

    Attributes
    ----------
    rule : int
        Its rank in the rule set.
    share : float
        What it adds to the score, as a share of all.
    group : str
        The group of rules to which it belongs for the strategy, "" if there is none.
    groundings : list of tuples of (head, relation, tail)
        Some of the ways in which it fires.
    """

    rule: int
    share: float
    group: str
    groundings: list[tuple[Fact, ...]]


@dataclass(frozen=True)
class Needed:
    """A fact that is not in train and would bring the explained one to the first place.

    Attributes
    ----------
    fact : (head, relation, tail)
        -1 for any entity.
    rule : int
        The rule that would fire with it.
    """

    fact: Fact
    rule: int


@dataclass(frozen=True)
class Standing:
    """The fact as an answer to one of its two queries.

    Attributes
    ----------
    direction : int
        0 for (head, relation, ?), 1 for (?, relation, tail).
    value : float or None
        What the strategy shows; None if no rule predicts the fact.
    optimistic, pessimistic : int
        Its rank without other known facts; 0 if no rule predicts it.
    candidates : int
        How many answers there are.
    leader : (int, float) or None
        The first of the other answers, if any, and its value.
    reasons : list of Reason
        By descending confidence.
    count : int
        How many rules predict the fact, those that are not listed included.
    needed : list of Needed
        Any one of them would do to rank first, if it changed nothing else.
    """

    direction: int
    value: float | None
    optimistic: int
    pessimistic: int
    candidates: int
    leader: tuple[int, float] | None
    reasons: list[Reason]
    count: int
    needed: list[Needed]


@dataclass(frozen=True)
class Explanation:
    """Why a fact is predicted.

    Attributes
    ----------
    engine : Engine
    strategy : str
    fact : (head, relation, tail)
    splits : tuple of str
        The splits of the graph that have the fact.
    standings : list of Standing
        As a tail, and as a head.
    """

    engine: Engine
    strategy: str
    fact: Fact
    splits: tuple[str, ...]
    standings: list[Standing]

    def __str__(self) -> str:
        from kgagg.report.explanation import text

        return text(self.to_json())

    def to_json(self, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """Return what JSON can hold; `labels` are other names for the entities."""
        graph, rules = self.engine.graph, self.engine.rules
        entities = labels or graph.entities.names()
        relations = graph.relations.names()

        def named(fact: Fact) -> list[str]:
            head, relation, tail = fact
            one, two = ("?" if e < 0 else entities[e] for e in (head, tail))
            return [one, relations[relation], two]

        def text(row: int) -> str:
            rule = rules.rule(row)
            constants = {
                field: entities[getattr(rules, field)[row]]
                for field in ("head_constant", "body_constant")
                if getattr(rules, field)[row] >= 0
            }
            return anyburl.format_rule(rule._replace(**constants))

        def reason(one: Reason) -> dict[str, Any]:
            return {
                "rule": text(one.rule),
                "rank": one.rule + 1,
                "confidence": float(rules.confidence[one.rule]),
                "predicted": int(rules.predicted[one.rule]),
                "correct": int(rules.correct[one.rule]),
                "share": one.share,
                "group": one.group,
                "groundings": [[named(fact) for fact in way] for way in one.groundings],
            }

        def standing(one: Standing) -> dict[str, Any]:
            leader = one.leader
            return {
                "value": one.value,
                "rank": [one.optimistic, one.pessimistic] if one.optimistic else None,
                "candidates": one.candidates,
                "leader": leader and {"entity": entities[leader[0]], "value": leader[1]},
                "rules": one.count,
                "reasons": [reason(each) for each in one.reasons],
                "would_rank_first_with": [
                    {
                        "fact": named(each.fact),
                        "rule": text(each.rule),
                        "confidence": float(rules.confidence[each.rule]),
                    }
                    for each in one.needed
                ],
            }

        return {
            "fact": named(self.fact),
            "strategy": self.strategy,
            "known_in": list(self.splits),
            **{DIRECTIONS[one.direction]: standing(one) for one in self.standings},
        }


def find_fact(graph: Graph, head: str, relation: str, tail: str) -> Fact:
    """Return the numbers of names.

    Raises
    ------
    InputError
        If a name is not in the graph, with the nearest ones.
    """
    return (
        graph.entities.require(head, "entity"),
        graph.relations.require(relation, "relation"),
        graph.entities.require(tail, "entity"),
    )


def read_labels(path: str | os.PathLike[str], entities: Vocabulary) -> list[str]:
    """Read names to show for entities, from lines of entity, tab, name; others keep theirs."""
    labels = entities.names()
    lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
    for number, line in enumerate(lines, start=1):
        name, tab, label = line.decode(errors="replace").rstrip("\r").partition("\t")
        if not tab:
            raise InputError(f"{path}:{number}: expected an entity, a tab and its name")
        if (entity := entities.id(name)) >= 0:
            labels[entity] = label
    return labels


def explain(
    engine: Engine,
    fact: Fact,
    strategy: Strategy,
    *,
    top: int = 10,
    ways: int = 3,
) -> Explanation:
    """Explain why a fact is predicted, and where it ranks.

    Parameters
    ----------
    engine : Engine
    fact : (head, relation, tail)
        Whether known or not.
    strategy : Strategy
    top : int
        How many rules to list; 0 for all.
    ways : int
        How many groundings to list for each rule; 0 for all.
    """
    graph = engine.graph
    triple = np.array([fact], np.int32)
    (firings,) = engine.apply(make_queries(triple), all_facts(graph), top_x=0, best=0, threads=1)
    standings = []
    for direction in range(2):
        part, chosen = firings.part(direction, direction + 1), strategy.choice(fact[1], direction)
        standings.append(_standing(engine, fact, direction, part, chosen, top, ways))
    size = len(graph.entities), len(graph.relations)
    splits = (
        name for name in SPLITS if Adjacency.build(graph.split(name), *size).contains(triple)[0]
    )
    return Explanation(engine, strategy.name, fact, tuple(splits), standings)


def _standing(
    engine: Engine,
    fact: Fact,
    direction: int,
    firings: Firings,
    strategy: Strategy,
    top: int,
    ways: int,
) -> Standing:
    head, _, tail = fact
    target = head if direction else tail
    scores = score(firings, [strategy])
    values = strategy.value(firings, scores[0])
    optimistic, pessimistic = (int(rank[0, 0]) for rank in rank_targets(firings, scores))
    others = np.flatnonzero(firings.candidate != target)
    leader, first = None, -1
    if len(others):
        first = int(others[np.argmax(scores[0, others])])
        leader = int(firings.candidate[first]), float(values[first])
    own = np.flatnonzero(firings.candidate == target)
    value, count, reasons = None, 0, []
    if len(own):
        value, rules = float(values[own[0]]), _rules_of(firings, own[0])
        count = len(rules)
        parts = strategy.contributions(rules, firings.confidence)
        shares = parts / parts.sum() if np.isfinite(parts).all() and parts.sum() else parts * 0
        listed = zip(rules.tolist(), shares.tolist(), strategy.groups(rules), strict=True)
        for rule, share, group in itertools.islice(listed, top or None):
            every = groundings(
                engine.graph, engine.rules, rule, head, tail, engine.semantics, direction
            )
            reasons.append(Reason(rule, share, group, list(itertools.islice(every, ways or None))))
    needed = []
    if pessimistic != 1:
        found = _needed(engine, fact, direction, firings, first, strategy)
        needed = list(itertools.islice(found, 3))
    return Standing(
        direction,
        value,
        optimistic,
        pessimistic,
        len(firings),
        leader,
        reasons,
        count,
        needed,
    )


def _needed(
    engine: Engine, fact: Fact, direction: int, firings: Firings, leader: int, strategy: Strategy
) -> Iterator[Needed]:
    """Yield single facts that would make one more rule fire and the fact rank first.

    The best rules with one body atom that do not predict the fact yet are tried; `leader` is the
    row of the candidate to beat, -1 if there is none.
    """
    rules = engine.rules
    head, relation, tail = fact
    target = head if direction else tail
    both = [_rules_of(firings, leader)] if leader >= 0 else []
    own = np.flatnonzero(firings.candidate == target)
    firing = _rules_of(firings, own[0]) if len(own) else firings.rules[:0]
    candidate = [*firings.candidate[[leader] * len(both)], target]
    possible = np.flatnonzero((rules.relation == relation) & (rules.length == 1))
    tried = 0
    for rule in np.setdiff1d(possible, firing).tolist():
        if (missing := _missing(rules, rule, head, tail)) is None:
            continue
        more = np.append(firing, np.int32(rule))
        changed = _with_rules(engine, firings, np.array(candidate, np.int32), [*both, more])
        if rank_targets(changed, score(changed, [strategy]))[1][0, 0] == 1:
            yield Needed(missing, rule)
        tried += 1
        if tried == _TRIED:
            return


def _rules_of(firings: Firings, row: int) -> np.ndarray:
    return firings.rules[firings.rule_ptr[row] : firings.rule_ptr[row + 1]]


def _missing(rules: RuleSet, rule: int, head: int, tail: int) -> Fact | None:
    """Return the fact with which a rule of one body atom would predict (head, tail), if any."""
    key = int(rules.body_keys[rules.body_ptr[rules.body[rule]]])
    kind, start, end = rules.kind[rule], head, tail
    if head == tail or kind == GENERAL:
        return None
    if kind != CYCLIC:
        start, constant = (tail, head) if rules.flags[rule] & SIDE else (head, tail)
        end = int(rules.body_constant[rule]) if kind == CONSTANT else -1
        if rules.head_constant[rule] != constant or end in (ME_ID, start):
            return None
    return (end, key >> 1, start) if key & 1 else (start, key >> 1, end)


def _with_rules(
    engine: Engine, firings: Firings, candidate: np.ndarray, rules: Sequence[np.ndarray]
) -> Firings:
    """Return the firings of one query as they were if these rules predicted these candidates."""
    known = engine.rules.confidence
    level = np.arange(len(known), dtype=np.int32)
    if engine.semantics.levels_by_value:
        level = np.cumsum(np.diff(known, prepend=np.inf) != 0).astype(np.int32)
    query_ptr = np.array([0, len(rules)], np.int64)
    rule_ptr = np.concatenate([[0], np.cumsum([len(row) for row in rules])]).astype(np.int64)
    ordered, strength, place = _kernels.reorder(
        query_ptr, rule_ptr, np.concatenate(rules), level, firings.weight
    )
    return dataclasses.replace(
        firings,
        query_ptr=query_ptr,
        candidate=candidate,
        count=np.diff(rule_ptr).astype(np.int32),
        strength=strength,
        level=place,
        rule_ptr=rule_ptr,
        rules=ordered,
    )
