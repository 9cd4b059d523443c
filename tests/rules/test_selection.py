"""Redundant rules, and rules that two sets have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawn import Case, cases
from hypothesis import given, settings

from kgagg.engine.engine import Engine
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.selection import common, redundant
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import score


@pytest.mark.parametrize(
    ("general", "special", "covered"),
    [
        ("h(X,c) <= r(X,A)", "h(X,c) <= r(X,d)", True),
        ("h(X,c) <= r(X,A)", "h(X,c) <= r(X,A), s(A,B)", True),
        ("h(X,c) <= r(X,A)", "h(X,c) <= r(X,A), s(A,d)", True),
        ("h(X,c) <= r(X,A), s(A,B)", "h(X,c) <= r(X,A), s(A,d)", True),
        ("h(c,Y) <= r(A,Y)", "h(c,Y) <= r(d,Y)", True),
        ("h(X,Y) <= r(X,Y)", "h(X,Y) <= r(X,Y), s(X,Y)", True),
        ("h(X,Y) <= r(X,A), s(A,Y)", "h(X,Y) <= r(X,A), s(A,Y), t(X,Y)", True),
        # the dangling entity must not be the constant of the head
        ("h(X,c) <= r(X,A)", "h(X,c) <= r(X,c)", False),
        # a zero rule predicts nothing for its constant
        ("h(X,c) <= ", "h(X,c) <= r(X,A)", False),
        ("h(X,c) <= r(X,A)", "h(X,e) <= r(X,d)", False),
        ("h(X,c) <= r(X,A)", "h(c,Y) <= r(Y,d)", False),
        ("h(X,c) <= r(A,X)", "h(X,c) <= r(X,d)", False),
        ("h(X,Y) <= r(X,Y)", "h(X,Y) <= r(X,A), r(A,Y)", False),
        ("h(X,Y) <= r(Y,X)", "h(X,Y) <= r(X,Y), s(X,Y)", False),
    ],
)
def test_what_is_covered(general: str, special: str, covered: bool) -> None:
    for counts, expected in (((5, 5), covered), ((6, 5), covered), ((4, 5), False)):
        lines = [
            f"10\t{correct}\t{correct / 10}\t{rule}"
            for correct, rule in zip(counts, (general, special), strict=True)
        ]
        # all types with the same weight
        rules = RuleSet.from_text(lines, confidence=Confidence(weights=()))
        texts = {rules.text(row) for row in np.flatnonzero(redundant(rules)).tolist()}
        assert texts == ({special} if expected else set())


@settings(max_examples=150)
@given(cases(3))
def test_scores_of_max_are_the_same_without_redundant_rules(case: Case) -> None:
    world = case.world()
    meaning = replace(case.semantics, branching=0, discrimination=0)
    found = []
    for rules in (world.rules, world.rules[~redundant(world.rules)]):
        engine = Engine(world.graph, rules, meaning)
        (firings,) = engine.apply(case.asked(world), world.known, top_x=0, best=1, threads=1)
        scores = score(firings, [strategy("max")])[0]
        query = np.repeat(np.arange(len(firings.queries)), np.diff(firings.query_ptr))
        pairs = zip(query.tolist(), firings.candidate.tolist(), strict=True)
        found.append(dict(zip(pairs, scores.tolist(), strict=True)))
    assert found[0] == found[1]


def test_what_two_sets_have_in_common() -> None:
    one = RuleSet.from_text(["h(X,Y) <= r(X,A), s(A,Y)", "h(X,c) <= r(X,A)", "h(X,Y) <= r(Y,X)"])
    other = RuleSet.from_text(
        ["9\t3\t0.3\th(X,Y) <= s(A,Y), r(X,A)", "h(X,d) <= r(X,A)", "r(X,Y) <= h(X,Y)"]
    )
    both = common(one, other)
    assert [one.text(row) for row in np.flatnonzero(both.one).tolist()] == [
        "h(X,Y) <= r(X,A), s(A,Y)"
    ]
    assert [other.text(row) for row in np.flatnonzero(both.other).tolist()] == [
        "h(X,Y) <= s(A,Y), r(X,A)"
    ]
