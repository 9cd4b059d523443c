"""The engine against nested loops, on small graphs where entities coincide at every turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import Fact, Query, Rule, path_end
from small import World, make_queries

from kgagg.engine import engine as apply
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.engine.semantics import PRESETS, Semantics
from kgagg.rules.confidence import Confidence
from kgagg.rules.shapes import ME

RELATIONS = ("pp", "qq")
INNER = "ABCDEF"


@dataclass(frozen=True)
class Case:
    """A world, and queries with their targets."""

    entities: Sequence[str]
    facts: frozenset[Fact]
    known: frozenset[Fact]
    rules: Sequence[Rule]
    counts: Sequence[int]
    queries: Sequence[Query]
    targets: Sequence[set[str]]
    semantics: Semantics

    def world(self) -> World:
        lines = [
            f"20\t{count}\t{count / 20}\t{rule}"
            for rule, count in zip(self.rules, self.counts, strict=True)
        ]
        confidence = Confidence.preset(self.semantics.name)
        relations = sorted({atom[0] for rule in self.rules for atom in (rule.head, *rule.body)})
        relations += sorted({relation for _, relation, _ in self.facts | self.known})
        return World.make(self.facts, lines, confidence, self.known, self.entities, relations)

    def asked(self, world: World) -> Queries:
        return make_queries(world.graph, self.queries, self.targets)


# the relation of a step along a path, and whether it is walked from object to subject
STEP = st.tuples(st.sampled_from(RELATIONS), st.booleans())
Step = tuple[str, bool]


def path(start: str, steps: Sequence[Step], end: str) -> tuple[naive.Atom, ...]:
    """The atoms of a path from one term to another."""
    terms = pairwise([start, *INNER[: len(steps) - 1], end])
    return tuple(
        (relation, two, one) if back else (relation, one, two)
        for (relation, back), (one, two) in zip(steps, terms, strict=True)
    )


@st.composite
def cyclic_rules(draw: st.DrawFn, longest: int, stem: Sequence[Step]) -> Rule:
    """A rule whose body may begin as `stem`, of the greatest length, does."""
    length = draw(st.integers(1, longest))
    steps = draw(st.lists(STEP, min_size=length, max_size=length))
    shared = draw(st.integers(0, length))
    steps[:shared] = stem[:shared]
    return Rule((draw(st.sampled_from(RELATIONS)), "X", "Y"), path("X", steps, "Y"))


@st.composite
def acyclic_rules(draw: st.DrawFn, longest: int, heads: Sequence[str], ends: Sequence[str]) -> Rule:
    """A rule with one of `heads` as the constant of its head ("X" for h(X,X)), and of its body."""
    relation, constant = draw(st.sampled_from(RELATIONS)), draw(st.sampled_from(heads))
    variable = "X" if constant == "X" else draw(st.sampled_from("XY"))
    head = (relation, variable, constant) if variable == "X" else (relation, constant, variable)
    length = draw(st.integers(0, longest))
    steps = draw(st.lists(STEP, min_size=length, max_size=length))
    end = draw(st.sampled_from(["W", "W", *ends]))
    return Rule(head, path(variable, steps, end) if steps else ())


def is_general(body: Sequence[naive.Atom]) -> bool:
    """X, Y and the other variables hang together, but are no path."""
    reached = {"X"}
    for _ in body:
        for _, *ends in body:
            if reached & set(ends):
                reached |= set(ends)
    terms = {"Y", *(term for _, *ends in body for term in ends)}
    return reached >= terms and not any(path_end(atoms, "X") == "Y" for atoms in permutations(body))


@st.composite
def general_rules(draw: st.DrawFn) -> Rule:
    ends = st.sampled_from(list(permutations("XYAB", 2)))
    atoms = st.tuples(st.sampled_from(RELATIONS), ends).map(lambda atom: (atom[0], *atom[1]))
    body = draw(st.lists(atoms, min_size=2, max_size=3).filter(is_general))
    return Rule((draw(st.sampled_from(RELATIONS)), "X", "Y"), tuple(body))


@st.composite
def all_semantics(draw: st.DrawFn, bounds: Sequence[int]) -> Semantics:
    return replace(
        draw(st.sampled_from(list(PRESETS.values()))),
        branching=draw(st.sampled_from(bounds)),
        discrimination=draw(st.sampled_from(bounds)),
    )


def draw_facts(
    draw: st.DrawFn, entities: Sequence[str], thin: int, relations: Sequence[str] = RELATIONS
) -> frozenset[Fact]:
    """Half of all possible facts, half of these again, and so on `thin` times."""
    every = list(product(entities, relations, entities))
    size = -(-len(every) // 8)
    bits = -1
    for _ in range(thin):
        bits &= int.from_bytes(draw(st.binary(min_size=size, max_size=size)))
    return frozenset(fact for i, fact in enumerate(every) if bits >> i & 1)


@st.composite
def cases(
    draw: st.DrawFn,
    longest: int = 6,
    shapes: Sequence[str] = ("cyclic", "acyclic", "general"),
) -> Case:
    """A few entities with many facts; there may be many others that know one or two of them."""
    entities = [f"e{i:02}" for i in range(draw(st.integers(5, 9)))]
    few = entities.copy()
    facts = draw_facts(draw, few, draw(st.integers(1, 4)))
    if hubs := "hub" in shapes:
        others = [f"e{i}" for i in range(10, draw(st.integers(40, 90)))]
        entities += others
        members = others + draw(st.lists(st.sampled_from(few), unique=True))
        facts |= {(entity, "pp", "e00") for entity in members}
        facts |= {("e01", "qq", entity) for entity in members}
    kinds = {
        "cyclic": cyclic_rules(longest, draw(st.lists(STEP, min_size=longest, max_size=longest))),
        "acyclic": acyclic_rules(4, [*few, ME, "X"], [*few, ME]),
        "hub": acyclic_rules(1, ["e02"], few[:3]),
        "general": general_rules(),
    }
    rule = st.one_of([kinds[shape] for shape in shapes])
    rules = draw(st.lists(rule, min_size=8 if hubs else 1, max_size=12))
    # few different counts, so that confidences tie
    counts = draw(st.lists(st.integers(2, 5), min_size=len(rules), max_size=len(rules)))
    heads = sorted({rule.head[0] for rule in rules})
    queries = list(product((0, 1), heads, few))
    wanted = naive.adjacency(draw_facts(draw, few, 4))
    return Case(
        entities,
        facts,
        draw_facts(draw, few, draw(st.integers(2, 4))),
        rules,
        counts,
        queries,
        [wanted.get((entity, relation, way), set()) for way, relation, entity in queries],
        draw(all_semantics([0, 0, 20, 40, 60] if hubs else [0, 0, 1, 2, 3])),
    )


@st.composite
def ladders(draw: st.DrawFn) -> Case:
    """A long body and its beginnings; each step has a relation of its own, so paths are few."""
    entities = [f"e{i}" for i in range(draw(st.integers(6, 9)))]
    relations = [f"r{i}" for i in range(draw(st.integers(4, 7)))]
    lengths = draw(st.sets(st.integers(2, len(relations)), min_size=1)) | {len(relations)}
    steps = [(relation, False) for relation in relations]
    rules = [Rule(("hh", "X", "Y"), path("X", steps[:length], "Y")) for length in sorted(lengths)]
    queries = list(product((0, 1), ["hh"], entities))
    return Case(
        entities,
        draw_facts(draw, entities, draw(st.integers(1, 3)), relations),
        frozenset(),
        rules,
        [5] * len(rules),
        queries,
        [set()] * len(queries),
        replace(PRESETS["anyburl"], discrimination=0),
    )


def check(case: Case, top_x: int, best: int, complete: bool = True) -> None:
    """Compare the engine with the oracle in everything that it says."""
    world = case.world()
    rows = [case.rules[line - 1] for line in world.rules.line]
    confidence = world.rules.confidence
    fired = [
        naive.predictions(set(case.facts), case.entities, rule, case.semantics) for rule in rows
    ]
    levels = list(range(len(rows)))
    if case.semantics.levels_by_value:
        levels = [int((confidence > confidence[rank]).sum()) for rank in levels]
    chunks = world.apply(
        case.asked(world),
        case.semantics,
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
        expected = naive.apply(fired, levels, query, old, targets, top_x, complete)
        kept = [one._replace(rules=one.rules[: best or None]) for one in expected]
        assert candidates == kept, query
        for one in expected:
            assert firings.count[row] == len(one.rules)
            weights = [-np.log1p(-confidence[rank]) for rank in one.rules]
            assert firings.strength[row] == pytest.approx(sum(weights), rel=1e-12)
            row += 1


TOP_X = st.sampled_from([0, 1, 2, 3, 5])
BEST = st.sampled_from([0, 1, 3])


@settings(max_examples=400)
@given(cases(), TOP_X, BEST)
def test_every_shape(case: Case, top_x: int, best: int) -> None:
    check(case, top_x, best)


@settings(max_examples=200)
@given(cases(shapes=["cyclic"]), TOP_X)
def test_long_cyclic_bodies(case: Case, top_x: int) -> None:
    # where rules share a prefix, what is kept of it must serve all that is to come
    check(case, top_x, 0)


@settings(max_examples=300)
@given(ladders(), TOP_X)
def test_what_is_kept_of_many_paths(case: Case, top_x: int) -> None:
    check(case, top_x, 0)


@settings(max_examples=200)
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


@settings(max_examples=100)
@given(cases(longest=3), TOP_X)
def test_nothing_is_asked_after_the_pool_is_closed(case: Case, top_x: int) -> None:
    check(case, top_x, 0, complete=False)


def content(chunks: Sequence[Firings]) -> list[bytes]:
    """What firings say, bit by bit, whatever the chunks."""
    parts = []
    for firings in chunks:
        sizes = np.diff(firings.query_ptr), np.diff(firings.rule_ptr)
        values = firings.candidate, firings.count, firings.strength, firings.level, firings.rules
        parts.append((*sizes, *values))
    return [np.concatenate(arrays).tobytes() for arrays in zip(*parts, strict=True)]


@settings(max_examples=60)
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


@settings(max_examples=60)
@given(cases(), TOP_X)
def test_growing_changes_nothing(case: Case, top_x: int) -> None:
    world = case.world()
    queries = case.asked(world)
    one = world.apply(queries, case.semantics, top_x=top_x, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply, "_START", 1)
        other = world.apply(queries, case.semantics, top_x=top_x, threads=1, chunk=7)
    assert content(one) == content(other)
