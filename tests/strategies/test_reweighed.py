"""Strategies with another number of unseen examples behind each confidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fired import ENTITIES, RELATIONS, Fired, fired, make_firings
from hypothesis import given
from hypothesis import strategies as st

from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.strategies.registry import strategy
from kgagg.strategies.reweighed import Reweighed, Reweighing, with_unseen
from kgagg.strategies.scoring import best_rules, rank_all, rank_split, score

NAMES = ["max", "max+", "noisy-or", "noisy-or-top-1", "noisy-or-top-3", "log-odds", "mean"]


@given(fired(), st.permutations(range(6)), st.booleans())
def test_reweighed_scores_are_those_of_firings_made_with_the_new_confidences(
    case: Fired, order: list[int], by_value: bool
) -> None:
    """Rule r of the old order is rule order[r] of the new one."""
    triples, queries, predicted, confidence = case
    firings = make_firings(queries, predicted, [0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    new = np.array(confidence)
    level = np.unique(-new, return_inverse=True)[1] if by_value else np.arange(6)
    table = Reweighing(new[order], -np.log1p(-new[order]), level[order].astype(np.int32))
    moved = [{e: [order[r] for r in rules] for e, rules in found.items()} for found in predicted]
    expected = make_firings(queries, moved, confidence)
    bases = [strategy(name) for name in NAMES if not (by_value and name == "max+")]
    reweighed = [Reweighed(base, 1, table) for base in bases]
    assert best_rules(reweighed) == 0
    mine = rank_all([firings], reweighed, triples, ENTITIES, RELATIONS)
    theirs = rank_all([expected], bases, triples, ENTITIES, RELATIONS)
    assert np.array_equal(mine.optimistic, theirs.optimistic)
    assert np.array_equal(mine.pessimistic, theirs.pessimistic)


def test_levels_by_value_compare_confidences_not_rules() -> None:
    """aa fires r1 (.5); bb fires r2 (.5) and r3 (.3): by value bb wins, by rule aa does."""
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0], 2: [1, 2]}, {}], [0.6, 0.5, 0.3])
    new = np.array([0.5, 0.5, 0.3])
    for level, winner in (([0, 1, 2], 1), ([0, 0, 1], 2)):
        table = Reweighing(new, -np.log1p(-new), np.array(level, np.int32))
        found = score(firings, [Reweighed(strategy("max+"), 1, table)])[0]
        assert firings.candidate[np.argmax(found)] == winner


def test_the_rule_sets_own_number_of_unseen_examples_changes_nothing(world: Path) -> None:
    for preset in ("anyburl", "pyclause"):
        engine = Engine.open(world, world / "rules.txt", preset)
        bases = [strategy(name) for name in NAMES]
        by_value = engine.semantics.levels_by_value
        same = with_unseen(bases, engine.rules, by_value, unseen=[5])
        assert [one.name for one in same] == [f"{name}@5" for name in NAMES]
        ranks = rank_split(engine, "valid", [*bases, *same])
        assert (ranks.optimistic > 0).any()
        for table in (ranks.optimistic, ranks.pessimistic):
            assert np.array_equal(table[: len(bases)], table[len(bases) :])
