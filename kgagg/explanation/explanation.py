"""Explain a fact: the rules that predict it, what makes them fire, and where it ranks."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import DIRECTIONS, Queries
from kgagg.engine.reorder import reorder
from kgagg.explanation.groundings import Fact, groundings
from kgagg.graph.graph import SPLITS, Graph
from kgagg.ranking.targets import rank_targets
from kgagg.rules.dialects import anyburl
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import CONSTANT, CYCLIC, GENERAL, ME_ID, SIDE
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score

# how many rules that do not fire are tried to make the fact rank first
_TRIED = 200
# how many of them at once
_AT_ONCE = 25


@dataclass(frozen=True)
class Reason:
    """A rule that predicts the fact.

    Attributes
    ----------
    rule : int
        Its rank in the rule set.
    adds : float
        What it adds to the score of the strategy.
    share : float
        The same, as a share of what all rules and features add (or take away, if negative).
    group : str
        The group of rules to which it belongs for the strategy, "" if there is none.
    groundings : list of tuples of (head, relation, tail)
        Some of the ways in which it fires.
    """

    rule: int
    adds: float
    share: float
    group: str
    groundings: list[tuple[Fact, ...]]


@dataclass(frozen=True)
class Feature:
    """What adds to the score besides rules.

    Attributes
    ----------
    name : str
    adds, share : float
        See `Reason`.
    """

    name: str
    adds: float
    share: float


@dataclass(frozen=True)
class Needed:
    """A fact that is not in train and would make the explained one rank first.

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
    score : float or None
        As the strategy shows it; None if no rule predicts the fact.
    optimistic, pessimistic : int
        Its filtered rank; 0 if no rule predicts it.
    candidates : int
        How many answers there are.
    leader : (int, float) or None
        The first of the other candidates, if any, and its score.
    reasons : list of Reason
        By descending confidence.
    features : list of Feature
        By what they add or take away, the most first.
    count : int
        How many rules predict the fact, those that are not listed included.
    needed : list of Needed
        Any one of them would do to rank first, if it changed nothing else.
    """

    direction: int
    score: float | None
    optimistic: int
    pessimistic: int
    candidates: int
    leader: tuple[int, float] | None
    reasons: list[Reason]
    features: list[Feature]
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
        from kgagg.explanation.page import text

        return text(self.to_json())

    def __repr__(self) -> str:
        head, relation, tail = self.to_json()["fact"]
        ranks = (one.optimistic or "none" for one in self.standings)
        places = ", ".join(
            f"{name} rank {rank}" for name, rank in zip(DIRECTIONS, ranks, strict=True)
        )
        return f"Explanation({relation}({head}, {tail}) by {self.strategy}: {places})"

    def _repr_html_(self) -> str:
        """Show the page of the explanation, with its drawings, in a notebook."""
        from kgagg.explanation.page import fragment

        return fragment(self.to_json())

    def to_html(self) -> str:
        """Return a page of its own, with drawings."""
        from kgagg.explanation.page import page

        return page(self.to_json())

    def to_json(self, *, labels: bool = True) -> dict[str, Any]:
        """Return JSON-compatible values, with labels in place of names if the graph has any.

        Parameters
        ----------
        labels : bool
            False for names in any case.
        """
        graph, rules = self.engine.graph, self.engine.rules
        entities, relations = graph.entities, graph.relations
        shown = graph.labels if labels else {}

        def label(name: str) -> str:
            return shown.get(name, name)

        def named(fact: Fact) -> list[str]:
            head, relation, tail = fact
            one, two = ("?" if e < 0 else label(entities[e]) for e in (head, tail))
            return [one, label(relations[relation]), two]

        def text(row: int) -> str:
            return anyburl.format_rule(rules.rule(row).labelled(shown))

        def reason(one: Reason) -> dict[str, Any]:
            return {
                "rule": text(one.rule),
                "rank": one.rule + 1,
                "confidence": float(rules.confidence[one.rule]),
                "predicted": int(rules.predicted[one.rule]),
                "correct": int(rules.correct[one.rule]),
                "adds": one.adds if np.isfinite(one.adds) else None,
                "share": one.share,
                "group": one.group,
                "groundings": [[named(fact) for fact in way] for way in one.groundings],
            }

        def standing(one: Standing) -> dict[str, Any]:
            leader = one.leader
            return {
                "score": one.score,
                "rank": [one.optimistic, one.pessimistic] if one.optimistic else None,
                "candidates": one.candidates,
                "leader": leader and {"entity": label(entities[leader[0]]), "score": leader[1]},
                "rules": one.count,
                "reasons": [reason(each) for each in one.reasons],
                "features": [dataclasses.asdict(each) for each in one.features],
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


def explain(
    engine: Engine,
    fact: Fact,
    strategy: Strategy,
    *,
    top: int = 10,
    ways: int = 3,
    stop: np.ndarray | None = None,
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
    stop
        See `Engine.apply`.
    """
    graph = engine.graph
    triple = np.array([fact], np.int32)
    (firings,) = engine.apply(
        Queries.from_patterns(triple), graph.facts, top_x=0, best=0, threads=1, stop=stop
    )
    standings = []
    for direction in range(2):
        part, chosen = firings.part(direction, direction + 1), strategy.choice(fact[1], direction)
        standings.append(_standing(engine, fact, direction, part, chosen, top, ways))
    splits = (name for name in SPLITS if (graph.split(name) == triple).all(axis=1).any())
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
    shown = strategy.display(firings, scores[0])
    optimistic, pessimistic = (int(rank[0, 0]) for rank in rank_targets(firings, scores))
    others = np.flatnonzero(firings.candidate != target)
    leader, first = None, -1
    if len(others):
        first = int(others[np.argmax(scores[0, others])])
        leader = int(firings.candidate[first]), float(shown[first])
    own = np.flatnonzero(firings.candidate == target)
    own_score, count, reasons, features = None, 0, [], []
    if len(own):
        own_score, rules = float(shown[own[0]]), _rules_of(firings, own[0])
        count = len(rules)
        parts, besides = strategy.explained(firings, int(own[0]))
        every_part = np.concatenate([parts, list(besides.values())])
        total = np.abs(every_part).sum()
        shares = every_part / total if np.isfinite(total) and total else np.zeros(len(every_part))
        features = [
            Feature(name, value, share)
            for (name, value), share in zip(besides.items(), shares[count:].tolist(), strict=True)
        ]
        features.sort(key=lambda one: -abs(one.adds))
        columns = (rules.tolist(), parts.tolist(), shares[:count].tolist(), strategy.groups(rules))
        listed = zip(*columns, strict=True)
        for rule, adds, share, group in itertools.islice(listed, top or None):
            every = groundings(
                engine.graph, engine.rules, rule, head, tail, engine.semantics, direction
            )
            found = list(itertools.islice(every, ways or None))
            reasons.append(Reason(rule, adds, share, group, found))
    needed = []
    if pessimistic != 1:
        missing = _needed(engine, fact, direction, firings, first, strategy)
        needed = list(itertools.islice(missing, 3))
    return Standing(
        direction,
        own_score,
        optimistic,
        pessimistic,
        len(firings),
        leader,
        reasons,
        features,
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
    head, _, tail = fact
    target = head if direction else tail
    both = [_rules_of(firings, leader)] if leader >= 0 else []
    own = np.flatnonzero(firings.candidate == target)
    firing = _rules_of(firings, own[0]) if len(own) else firings.rules[:0]
    candidate = np.array([*firings.candidate[[leader] * len(both)], target], np.int32)
    level = _levels(engine)
    tried = np.setdiff1d(_possible(rules, fact), firing)[:_TRIED]
    for start in range(0, len(tried), _AT_ONCE):
        some = tried[start : start + _AT_ONCE]
        trials = [[*both, np.append(firing, np.int32(rule))] for rule in some.tolist()]
        changed = _with_rules(firings, candidate, trials, level)
        _, last = rank_targets(changed, score(changed, [strategy]))
        for rule in some[last[0] == 1].tolist():
            yield Needed(_missing(rules, rule, head, tail), rule)


def _rules_of(firings: Firings, row: int) -> np.ndarray:
    return firings.rules[firings.rule_ptr[row] : firings.rule_ptr[row + 1]]


def _possible(rules: RuleSet, fact: Fact) -> np.ndarray:
    """Return the rules with one body atom that would predict a fact with one more: int64[n]."""
    head, relation, tail = fact
    if head == tail:
        return np.empty(0, np.int64)
    rows = np.flatnonzero((rules.relation == relation) & (rules.length == 1))
    rows = rows[rules.kind[rows] != GENERAL]
    side = rules.flags[rows] & SIDE != 0
    fits = rules.head_constant[rows] == np.where(side, head, tail)
    end = rules.body_constant[rows]
    # entities of a grounding are distinct
    distinct = (end != ME_ID) & (end != np.where(side, tail, head))
    fits &= (rules.kind[rows] != CONSTANT) | distinct
    return rows[fits | (rules.kind[rows] == CYCLIC)]


def _missing(rules: RuleSet, rule: int, head: int, tail: int) -> Fact:
    """Return the fact with which a rule of one body atom would predict (head, tail)."""
    key = int(rules.body_keys[rules.body_ptr[rules.body[rule]]])
    start, end = head, tail
    if rules.kind[rule] != CYCLIC:
        start = tail if rules.flags[rule] & SIDE else head
        end = int(rules.body_constant[rule]) if rules.kind[rule] == CONSTANT else -1
    return (end, key >> 1, start) if key & 1 else (start, key >> 1, end)


def _levels(engine: Engine) -> np.ndarray:
    """Return what MAX+ compares of each rule: int32[rules]."""
    known = engine.rules.confidence
    if engine.semantics.levels_by_value:
        return np.cumsum(np.diff(known, prepend=np.inf) != 0).astype(np.int32)
    return np.arange(len(known), dtype=np.int32)


def _with_rules(
    firings: Firings,
    candidate: np.ndarray,
    trials: Sequence[Sequence[np.ndarray]],
    level: np.ndarray,
) -> Firings:
    """Return the firings of a query as they were if other rules predicted its candidates.

    Parameters
    ----------
    firings : Firings
        Of one query with one target.
    candidate : int32[n]
    trials : sequence of sequences of int32[...]
        For each trial the rules of each candidate; there is one query for each.
    level : int32[rules]
        See `reorder`.
    """
    asked, count = firings.queries, len(trials)
    rules = [row for trial in trials for row in trial]
    query_ptr = np.arange(0, len(rules) + 1, len(candidate), dtype=np.int64)
    rule_ptr = np.concatenate([[0], np.cumsum([len(row) for row in rules])]).astype(np.int64)
    ordered, strength, place = reorder(
        query_ptr, rule_ptr, np.concatenate(rules), level, firings.weight
    )
    queries = Queries(
        np.repeat(asked.relation, count),
        np.repeat(asked.direction, count),
        np.repeat(asked.entity, count),
        np.arange(count + 1, dtype=np.int64),
        np.repeat(asked.target, count),
        np.arange(count, dtype=np.int32),
    )
    return dataclasses.replace(
        firings,
        queries=queries,
        query_ptr=query_ptr,
        candidate=np.tile(candidate, count),
        count=np.diff(rule_ptr).astype(np.int32),
        strength=strength,
        level=place,
        rule_ptr=rule_ptr,
        rules=ordered,
    )
