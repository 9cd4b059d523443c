"""Which rules add nothing to others, and what two rule sets have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import (
    CONSTANT,
    CYCLIC,
    DANGLING,
    GENERAL,
    SIDE,
    XX,
    ZERO,
    Atom,
    Rule,
    Unusable,
    X,
    Y,
    arrange,
)


def redundant(rules: RuleSet) -> np.ndarray:
    """Return which rules another one of at least the same confidence covers: bool[rules].

    The other one has the same head and a part of the body, so it predicts all that the rule
    predicts, if nothing bounds the search. For a path from the variable of the head the part is a
    beginning, or the path without the constant at its end: ``h(X,c) <= r(X,A)`` makes
    ``h(X,c) <= r(X,d)`` redundant. For a body that is not a path it is any part that connects X and
    Y. So the scores of MAX stay the same without redundant rules.
    """
    return _redundant_paths(rules) | _redundant_parts(rules)


def _redundant_paths(rules: RuleSet) -> np.ndarray:
    acyclic = (rules.kind == CONSTANT) | (rules.kind == DANGLING)
    # where the constant of the head ends the body, the step of a more general rule must lead on
    acyclic &= (rules.kind == DANGLING) | (rules.body_constant != rules.head_constant)
    rows = np.flatnonzero(acyclic)
    others = np.flatnonzero(rules.kind == DANGLING)
    prefix = _prefixes(rules)
    if not len(rows) or not len(others):
        return np.zeros(len(rules), np.bool_)

    def heads(chosen: np.ndarray) -> np.ndarray:
        side = rules.flags[chosen] & (SIDE | XX)
        head = 4 * rules.relation[chosen].astype(np.int64) + side
        return head * (len(rules.entities) + 2) + rules.head_constant[chosen] + 2

    known = np.stack([heads(others), rules.body[others].astype(np.int64)])
    order = np.lexsort((others, *known[::-1]))
    # of rules with the same key the first, which has the highest confidence
    keys, first = np.unique(known[:, order], axis=1, return_index=True)
    best = rules.confidence[others[order[first]]]
    packed = keys[0] * len(prefix) + keys[1]
    found = np.zeros(len(rules), np.bool_)
    own = heads(rows)
    for depth in range(1, prefix.shape[1]):
        body = prefix[rules.body[rows], depth].astype(np.int64)
        shorter = (depth < rules.length[rows]) | (rules.kind[rows] == CONSTANT)
        code = own * len(prefix) + body
        at = np.searchsorted(packed, code).clip(max=len(packed) - 1)
        covered = (body >= 0) & shorter & (packed[at] == code)
        found[rows[covered & (best[at] >= rules.confidence[rows])]] = True
    return found


def _prefixes(rules: RuleSet) -> np.ndarray:
    """Return the number of the body that each begins with, by length, -1 if there is none.

    Returns
    -------
    int32[bodies, longest + 1]
    """
    used = np.unique(rules.body[rules.kind != GENERAL]).tolist()
    paths = {
        tuple(rules.body_keys[rules.body_ptr[body] : rules.body_ptr[body + 1]].tolist()): body
        for body in used
    }
    longest = max(map(len, paths), default=0)
    found = np.full((len(rules.body_ptr) - 1, longest + 1), -1, np.int32)
    for path, body in paths.items():
        for depth in range(1, len(path) + 1):
            found[body, depth] = paths.get(path[:depth], -1)
    return found


def _redundant_parts(rules: RuleSet) -> np.ndarray:
    general = np.flatnonzero(rules.kind == GENERAL)
    found = np.zeros(len(rules), np.bool_)
    if not len(general):
        return found
    rows = np.flatnonzero((rules.kind == CYCLIC) | (rules.kind == GENERAL))
    best: dict[Rule, float] = {}
    for rule, confidence in zip(rules.rules(rows), rules.confidence[rows].tolist(), strict=True):
        best.setdefault(_meaning(rule), confidence)
    for row, rule in zip(general.tolist(), rules.rules(general), strict=True):
        found[row] = any(best.get(part, -1.0) >= rules.confidence[row] for part in _parts(rule))
    return found


def _parts(rule: Rule) -> Iterator[Rule]:
    """Yield the rules with the same head and a smaller body."""
    atoms = [Atom(*atom) for atom in rule.atoms]
    for size in range(1, len(atoms)):
        for part in combinations(atoms, size):
            try:
                yield _meaning(arrange(Atom(rule.relation, X, Y), list(part)))
            except Unusable:
                # X and Y are not connected
                continue


def _meaning(rule: Rule) -> Rule:
    """Return a rule without what only concerns its text."""
    return rule._replace(flags=rule.flags & (SIDE | XX))


def more_general(rules: RuleSet, row: int) -> np.ndarray:
    """Return the rules that predict all that a rule predicts, by their form: int64[n], best first.

    They have the same head, or a variable for its constant, and a part of the body from the
    variable of the head on. Bodies that are not paths have none here.
    """
    kind, steps = int(rules.kind[row]), _steps(rules, int(rules.body[row]))
    if kind not in (CONSTANT, DANGLING):
        return np.empty(0, np.int64)
    same = _same_head(rules, row)
    # a beginning of the path, or all of it without the constant at its end
    beginnings = {steps[:n] for n in range(len(steps) + (kind == CONSTANT))}
    bodies = [body for body in _bodies(rules, same) if _steps(rules, body) in beginnings]
    found = same & np.isin(rules.body, bodies) & ((rules.kind == DANGLING) | (rules.kind == ZERO))
    if kind == CONSTANT and rules.head_constant[row] == rules.body_constant[row]:
        # h(X,c) <= b(X,c) is h(X,Y) <= b(X,Y) with a constant
        found |= _cyclic(rules, row, steps)
    found[row] = False
    return np.flatnonzero(found)


def more_special(rules: RuleSet, row: int) -> np.ndarray:
    """Return the rules of which this one is a more general form: int64[n] (see `more_general`)."""
    kind, steps = int(rules.kind[row]), _steps(rules, int(rules.body[row]))
    if kind == CYCLIC:
        found = (rules.relation == rules.relation[row]) & (rules.kind == CONSTANT)
        found &= rules.head_constant == rules.body_constant
        back = tuple(key ^ 1 for key in reversed(steps))
        # from X for rules with X in the head, from Y for the others
        for path, side in ((steps, 0), (back, SIDE)):
            bodies = [body for body in _bodies(rules, found) if _steps(rules, body) == path]
            found &= np.isin(rules.body, bodies) | (rules.flags & SIDE != side)
        return np.flatnonzero(found)
    if kind not in (DANGLING, ZERO):
        return np.empty(0, np.int64)
    same = _same_head(rules, row) & np.isin(rules.kind, (CONSTANT, DANGLING))
    bodies = [body for body in _bodies(rules, same) if _steps(rules, body)[: len(steps)] == steps]
    found = same & np.isin(rules.body, bodies)
    found[row] = False
    return np.flatnonzero(found)


def _same_head(rules: RuleSet, row: int) -> np.ndarray:
    return (
        (rules.relation == rules.relation[row])
        & (rules.head_constant == rules.head_constant[row])
        & ((rules.flags ^ rules.flags[row]) & (SIDE | XX) == 0)
    )


def _cyclic(rules: RuleSet, row: int, steps: tuple[int, ...]) -> np.ndarray:
    """Return which rules are cyclic, with the head relation of a rule and the body `steps`."""
    if rules.flags[row] & SIDE:
        steps = tuple(key ^ 1 for key in reversed(steps))
    found = (rules.relation == rules.relation[row]) & (rules.kind == CYCLIC)
    bodies = [body for body in _bodies(rules, found) if _steps(rules, body) == steps]
    return np.asarray(found & np.isin(rules.body, bodies))


def _bodies(rules: RuleSet, chosen: np.ndarray) -> list[int]:
    bodies: list[int] = np.unique(rules.body[chosen]).tolist()
    return bodies


def _steps(rules: RuleSet, body: int) -> tuple[int, ...]:
    return tuple(rules.body_keys[rules.body_ptr[body] : rules.body_ptr[body + 1]].tolist())


class Common(NamedTuple):
    """What two rule sets have in common.

    Attributes
    ----------
    one, other : bool[rules of each]
        Which rules are in both, whatever their statistics.
    """

    one: np.ndarray
    other: np.ndarray


def common(one: RuleSet, other: RuleSet) -> Common:
    """Find the rules that are in both sets, by name, whatever the way in which they are written."""
    texts = [[_meaning(rule) for rule in each.rules(np.arange(len(each)))] for each in (one, other)]
    shared = set(texts[0]) & set(texts[1])
    return Common(*(np.array([rule in shared for rule in each], np.bool_) for each in texts))
