"""Strategies that choose another one on valid: what they choose, from what, and how they rank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fired import ENTITIES, RELATIONS, Fired, fired, ranks_of
from hypothesis import given
from hypothesis import strategies as st

from kgagg.engine.engine import Engine
from kgagg.errors import InputError
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import values
from kgagg.strategies.base import Strategy
from kgagg.strategies.fitting import PRIOR, Fitting, shrunk
from kgagg.strategies.registry import fit_all, open_strategy, strategy
from kgagg.strategies.scoring import rank_all, rank_split
from kgagg.strategies.tuned import NoisyOrTopHStar, Tuned, top_h_choices, tune


def with_choices(names: Sequence[str], chosen: np.ndarray, default: np.ndarray) -> Tuned:
    """A strategy as it was tuned."""
    arrays = {"chosen": chosen, "default": default}
    return NoisyOrTopHStar.restore({"used": list(names)}, arrays)


def picked(ranks: Ranks, names: Sequence[str], chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks of each target by what is chosen for its query."""
    both = []
    for table in (ranks.optimistic, ranks.pessimistic):
        found = np.empty((1, *table.shape[1:]), np.int32)
        for i, (_, relation, _) in enumerate(ranks.triples.tolist()):
            for direction in range(2):
                row = ranks.strategies.index(names[chosen[relation, direction]])
                found[0, i, direction] = table[row, i, direction]
        both.append(found)
    return both[0], both[1]


def test_the_choices_of_top_h() -> None:
    assert [one.name for one in top_h_choices()] == [
        "max+",
        *(f"noisy-or-top-{h}" for h in range(4, 11)),
    ]
    assert [one.name for one in top_h_choices([0, 5, 2, 1])] == [
        "max+",
        "noisy-or-top-2",
        "noisy-or-top-5",
        "noisy-or",
    ]


def test_tuning_chooses_by_relation_and_direction() -> None:
    names = [one.name for one in top_h_choices([1, 4, 5])]
    triples = [(0, 0, 1), (2, 0, 3), (0, 1, 1)]
    tail = [[1, 2, 3], [2, 1, 1], [9, 9, 9]]
    head = [[1, 4, 2], [5, 4, 1], [5, 1, 1]]
    valid = ranks_of(names, triples, np.stack([tail, head], axis=2))
    chosen, default = tune(valid)
    # relation 0 by the sums of 1/rank, a tie goes to the first; relation 1 likewise; relation 2
    # does not occur: the best over all queries of the direction
    assert chosen.tolist() == [[0, 0], [1, 1], [1, 2]]
    assert default.tolist() == [1, 2]
    tuned = with_choices(names, chosen, default)
    assert tuned.best == 5
    assert [tuned.choice(2, way).name for way in (0, 1)] == ["noisy-or-top-4", "noisy-or-top-5"]
    test = ranks_of(
        [*reversed(names)], [(0, 2, 1), (0, 1, 1)], [[[7, 7]] * 2, [[5, 6]] * 2, [[1, 2]] * 2]
    )
    assert picked(test, names, chosen)[0].tolist() == [[[5, 7], [5, 6]]]


@given(st.integers(0, 10_000))
def test_the_tuned_strategy_is_at_least_as_good_on_valid_as_every_choice(seed: int) -> None:
    generator = np.random.default_rng(seed)
    triples = generator.integers(0, 3, (20, 3))
    names = [one.name for one in top_h_choices([1, 4, 5, 6])]
    valid = ranks_of(names, triples, generator.integers(0, 5, (4, 20, 2)))
    optimistic, _ = picked(valid, names, tune(valid)[0])
    tuned = ranks_of(["noisy-or-top-h*"], triples, optimistic)
    assert values(tuned).mean() >= values(valid).mean(axis=(1, 2)).max() - 1e-9


@given(fired())
def test_scores_of_a_tuned_strategy_give_the_ranks_it_picks(case: Fired) -> None:
    names = ["max+", "noisy-or-top-2", "noisy-or"]
    chosen = np.array([[0, 1], [2, 0], [1, 1]])
    tuned = with_choices(names, chosen, np.zeros(2, np.int64))
    choices = [strategy(name) for name in names]
    every = rank_all([case.firings], choices, case.triples, ENTITIES, RELATIONS)
    optimistic, pessimistic = picked(every, names, chosen)
    scored = rank_all([case.firings], [tuned], case.triples, ENTITIES, RELATIONS)
    assert scored.strategies == ("noisy-or-top-h*",)
    assert np.array_equal(optimistic, scored.optimistic)
    assert np.array_equal(pessimistic, scored.pessimistic)


def test_an_empty_valid_split_is_told(world: Path) -> None:
    (world / "valid.txt").write_text("")
    engine = Engine.open(world, world / "rules.txt")
    for name in ("noisy-or-top-h*", "tuned"):
        with pytest.raises(InputError, match="fitted on the valid split, which is empty"):
            fit_all([strategy(name)], Fitting(engine))


def by_name(tuned: Strategy, relations: Vocabulary) -> dict[str, list[str]]:
    """What is chosen for the tail and the head of each relation."""
    names = enumerate(relations.names())
    return {name: [tuned.choice(r, way).name for way in range(2)] for r, name in names}


def test_nothing_of_test_enters_what_is_tuned(world: Path) -> None:
    found = []
    for test in ("e0\tr0\te1\n", "e5\tr1\te6\nnew\tr9\te0\n", ""):
        (world / "test.txt").write_text(test)
        engine = Engine.open(world, world / "rules.txt")
        relations = engine.graph.relations
        fitting, top_h = Fitting(engine), [1, 2, 3, 0]
        tuned = [strategy(name, top_h).fit(fitting) for name in ("noisy-or-top-h*", "tuned")]
        assert [by_name(one, relations) for one in tuned] == [
            {name: list(way.values()) for name, way in one.report["relations"].items()}
            for one in tuned
            if one.report
        ]
        names = [by_name(one, relations) for one in tuned]
        valid = rank_split(engine, "valid", [*top_h_choices(top_h), *tuned])
        found.append(([{r: n[r] for r in ("r0", "r1", "r2")} for n in names], valid.optimistic))
    choice, ranks = found[0]
    assert len({str(c) for part in choice for c in part.values()}) > 1
    for other, other_ranks in found[1:]:
        assert other == choice
        assert np.array_equal(other_ranks, ranks)


def test_a_tuned_strategy_is_read_by_the_names_of_relations(engine: Engine, tmp_path: Path) -> None:
    tuned = strategy("noisy-or-top-h*", [1, 2, 3]).fit(Fitting(engine))
    assert isinstance(tuned, Tuned)
    path = tmp_path / "tuned.kgagg"
    tuned.save(path, engine.names)
    known = engine.names._replace(relations=Vocabulary.from_names(["r2", "new", "r0"]))
    again = open_strategy(path, known)
    assert isinstance(again, Tuned)
    order = [engine.graph.relations.id(name) for name in ("r2", "r0")]
    assert [one.name for one in again.choices] == [one.name for one in tuned.choices]
    assert np.array_equal(again.chosen[[0, 2]], tuned.chosen[order])
    assert np.array_equal(again.chosen[1], tuned.default)
    path.write_text('{"strategy": "x"}')
    with pytest.raises(InputError, match="not a binary file of kgagg"):
        open_strategy(path, known)


def test_choices_are_equal_if_sums_differ_in_their_last_bits_only() -> None:
    names, triples = [one.name for one in top_h_choices([1, 4])], [(i, 0, i) for i in range(6)]
    draws = np.random.default_rng(0).integers(1, 50, (10_000, 6))
    # the same ranks in two orders: the second sum is the larger one, by its last bit
    for ranks in draws:
        table = np.stack([ranks, ranks[::-1]])
        valid = ranks_of(names, triples, np.stack([table, table], axis=2))
        one, other = values(valid)[:, :, 0]
        by_slot = [np.bincount(np.zeros(6, int), way)[0] for way in (one, other)]
        if by_slot[1] > by_slot[0] and other.sum() > one.sum():
            break
    else:
        pytest.fail("no such ranks were drawn")
    chosen, default = tune(valid)
    assert chosen[0].tolist() == [0, 0]
    assert default.tolist() == [0, 0]


def test_the_prior_of_a_slot_is_that_of_its_direction() -> None:
    # slots: relation 0 tails, relation 0 heads, relation 1 tails, relation 1 heads
    total, number = np.array([6.0, 10.0, 0.0, 30.0]), np.array([3, 1, 0, 3])
    expected = [6 + PRIOR * 6 / 3, 10 + PRIOR * 40 / 4, PRIOR * 6 / 3, 30 + PRIOR * 40 / 4]
    assert shrunk(total, number).tolist() == pytest.approx(expected)
    # and sums that differ in their last bits only are equal
    assert 0.1 + 0.2 != 0.3
    one, other = (shrunk(np.array([x, 0.0]), np.array([1, 1]))[0] for x in (0.1 + 0.2, 0.3))
    assert one == other
