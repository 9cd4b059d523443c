"""Random worlds for the engine: small graphs where entities coincide at every turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product

import naive
from hypothesis import settings
from hypothesis import strategies as st
from naive import Fact, Query, Rule, path_end
from small import World, make_queries

from kgagg.engine.queries import Queries
from kgagg.engine.semantics import PRESETS, Semantics
from kgagg.rules.confidence import Confidence
from kgagg.rules.shapes import ME

RELATIONS = ("pp", "qq")
INNER = "ABCDEF"


def examples(count: int) -> settings:
    """Draw `count` cases; with a profile that draws fewer than 100 by default, a part of them."""
    return settings(max_examples=max(1, count * settings().max_examples // 100))


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
