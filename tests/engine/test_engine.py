"""The engine against nested loops, on small graphs where entities coincide at every turn."""

from __future__ import annotations

from collections.abc import Sequence

import naive
import numpy as np
import pytest
from drawn import Case, cases, examples, ladders
from hypothesis import given
from hypothesis import strategies as st
from naive import Rule

from kgagg.engine import scratch
from kgagg.engine.firings import Firings
from kgagg.engine.semantics import PRESETS


def check(
    case: Case,
    top_x: int,
    best: int,
    complete: bool = True,
    allowed: Sequence[set[str]] | None = None,
) -> None:
    """Compare the engine with the oracle in everything that it says.

    `allowed` are the entities that may be tails, and those that may be heads.
    """
    world = case.world()
    rows = [case.rules[line - 1] for line in world.rules.line]
    confidence = world.rules.confidence
    fired = [
        naive.predictions(set(case.facts), case.entities, rule, case.semantics) for rule in rows
    ]
    levels = list(range(len(rows)))
    if case.semantics.levels_by_value:
        levels = [int((confidence > confidence[rank]).sum()) for rank in levels]
    names = world.graph.entities.names()
    chunks = world.apply(
        case.asked(world),
        case.semantics,
        allowed=allowed and np.array([[name in each for name in names] for each in allowed]),
        top_x=top_x,
        best=best,
        complete=complete,
        threads=1,
    )
    (firings,) = chunks
    known = naive.adjacency(case.known)
    found = list(world.candidates(chunks))
    assert len(found) == len(case.queries)
    row = 0
    for query, targets, candidates in zip(case.queries, case.targets, found, strict=True):
        direction, relation, entity = query
        old = known.get((entity, relation, direction), set())
        only = allowed[direction] if allowed else None
        expected = naive.apply(fired, levels, query, old, targets, top_x, complete, only)
        kept = [one._replace(rules=one.rules[: best or None]) for one in expected]
        assert candidates == kept, query
        for one in expected:
            assert firings.count[row] == len(one.rules)
            weights = [-np.log1p(-confidence[rank]) for rank in one.rules]
            assert firings.strength[row] == pytest.approx(sum(weights), rel=1e-12)
            row += 1


TOP_X = st.sampled_from([0, 1, 2, 3, 5])
BEST = st.sampled_from([0, 1, 3])


@examples(400)
@given(cases(), TOP_X, BEST)
def test_every_shape(case: Case, top_x: int, best: int) -> None:
    check(case, top_x, best)


@examples(200)
@given(cases(shapes=["cyclic"]), TOP_X)
def test_long_cyclic_bodies(case: Case, top_x: int) -> None:
    # where rules share a prefix, what is kept of it must serve all that is to come
    check(case, top_x, 0)


@examples(300)
@given(ladders(), TOP_X)
def test_what_is_kept_of_many_paths(case: Case, top_x: int) -> None:
    check(case, top_x, 0)


@examples(200)
@given(cases(2, ["cyclic", "hub"]), TOP_X)
def test_hubs(case: Case, top_x: int) -> None:
    # where a rule predicts much more than the pool holds, the pool is asked instead
    check(case, top_x, 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_self_loops_in_a_closed_pool(preset: str) -> None:
    entities = [f"e{i}" for i in range(50)]
    facts = {("e0", "qq", "e3"), ("e4", "qq", "e3"), ("e4", "pp", "e4"), ("e0", "pp", "e0")}
    facts |= {(entity, "pp", "e0") for entity in entities[10:]}
    bodies = "qq(X,e3)", "pp(X,e0)", "pp(X,A)"
    case = Case(
        entities,
        frozenset(facts),
        frozenset(),
        [Rule.parse(f"hh(X,e2) <= {body}") for body in bodies],
        [5, 4, 3],
        [(1, "hh", "e2")],
        [set()],
        PRESETS[preset],
    )
    check(case, top_x=2, best=0)


@examples(100)
@given(cases(longest=3), TOP_X)
def test_nothing_is_asked_after_the_pool_is_closed(case: Case, top_x: int) -> None:
    check(case, top_x, 0, complete=False)


@st.composite
def restricted(draw: st.DrawFn) -> tuple[Case, list[set[str]]]:
    case = draw(st.one_of(cases(), cases(2, ["cyclic", "hub"])))
    some = st.sets(st.sampled_from(case.entities))
    return case, [draw(some), draw(some)]


@examples(200)
@given(restricted(), TOP_X, BEST)
def test_only_what_is_allowed_is_a_candidate(
    drawn: tuple[Case, list[set[str]]], top_x: int, best: int
) -> None:
    # so the pool is closed by candidates that are allowed
    check(drawn[0], top_x, best, allowed=drawn[1])


def content(chunks: Sequence[Firings]) -> list[bytes]:
    """What firings say, bit by bit, whatever the chunks."""
    parts = []
    for firings in chunks:
        sizes = np.diff(firings.query_ptr), np.diff(firings.rule_ptr)
        values = firings.candidate, firings.count, firings.strength, firings.level, firings.rules
        parts.append((*sizes, *values))
    return [np.concatenate(arrays).tobytes() for arrays in zip(*parts, strict=True)]


@examples(60)
@given(cases(), TOP_X, st.integers(1, 20))
def test_threads_and_chunks_change_nothing(case: Case, top_x: int, chunk: int) -> None:
    world = case.world()
    queries = case.asked(world)
    one, other = (
        world.apply(queries, case.semantics, top_x=top_x, threads=threads, chunk=size)
        for threads, size in ((1, 256), (2, chunk))
    )
    assert len(one) == 1
    assert sum(len(firings.queries) for firings in other) == len(queries)
    assert content(one) == content(other)


@examples(60)
@given(cases(), TOP_X)
def test_growing_changes_nothing(case: Case, top_x: int) -> None:
    world = case.world()
    queries = case.asked(world)
    one = world.apply(queries, case.semantics, top_x=top_x, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "START", 1)
        other = world.apply(queries, case.semantics, top_x=top_x, threads=1, chunk=7)
    assert content(one) == content(other)
