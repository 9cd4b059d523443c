"""Slow, obvious reference implementations: what the package must agree with."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kgagg.engine.semantics import Semantics, semantics

# --- evaluation --------------------------------------------------------------------------------


def filtered_ranks(
    scores: Mapping[int, float], target: int, others: Iterable[int] = ()
) -> tuple[int, int]:
    """Optimistic and pessimistic rank of the target when other true answers are left out."""
    if target not in scores:
        return 0, 0
    kept = [s for e, s in scores.items() if e != target and e not in set(others)]
    best = scores[target]
    return 1 + sum(s > best for s in kept), 1 + sum(s >= best for s in kept)


def random_order_mean(
    optimistic: int, pessimistic: int, hits: int | None, cut: int | None = None
) -> float:
    """Mean of 1/rank (or of rank <= hits) over all orders of the tied candidates, one by one.

    Ranks beyond `cut` count as none.
    """
    if optimistic == 0:
        return 0.0
    tied = range(pessimistic - optimistic + 1)
    total = orders = 0.0
    for order in itertools.permutations(tied):
        rank = optimistic + order.index(0)
        orders += 1
        if cut is None or rank <= cut:
            total += 1 / rank if hits is None else float(rank <= hits)
    return total / orders


def sign_flip_p(differences: Sequence[float]) -> float:
    """Exact two-sided p-value of the sum of paired differences, over all signs."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product([-1, 1], repeat=len(differences))
    ]
    return sum(s >= observed - 1e-9 for s in sums) / len(sums)


# --- aggregation -------------------------------------------------------------------------------


def max_plus(rules: Sequence[int]) -> list[int]:
    """A list that compares as MAX+ does; rules are numbered by descending confidence.

    Of two lists with a common beginning the longer one is greater.
    """
    return [-r for r in sorted(rules)]


def aggregate(name: str, rules: Sequence[int], confidence: Sequence[float]) -> float:
    """Score of a candidate that these rules predict, by the formula of the strategy."""
    p = [confidence[r] for r in sorted(rules)]
    if name == "max":
        return p[0]
    if name == "noisy-or":
        return 1 - math.prod(1 - c for c in p)
    if name.startswith("noisy-or-top-"):
        return 1 - math.prod(1 - c for c in p[: int(name.removeprefix("noisy-or-top-"))])
    if name == "log-odds":
        return sum(math.log(c / (1 - c)) for c in p)
    assert name == "mean"
    return sum(p) / len(p)


# --- graphs ------------------------------------------------------------------------------------

# everything goes by its name; a fact is head, relation, tail
Fact = tuple[str, str, str]
# the neighbours of an entity by a relation, from head to tail (0) or from tail to head (1)
Edges = dict[tuple[str, str, int], set[str]]


def read_facts(text: str) -> list[Fact]:
    """The lines of a well-formed file of triples."""
    facts = []
    for line in text.removeprefix("\ufeff").split("\n"):
        if line.rstrip("\r"):
            head, relation, tail = line.rstrip("\r").split("\t")
            facts.append((head, relation, tail))
    return facts


def adjacency(facts: Iterable[Fact]) -> Edges:
    """The neighbours of every entity by every step."""
    edges: Edges = defaultdict(set)
    for head, relation, tail in facts:
        edges[head, relation, 0].add(tail)
        edges[tail, relation, 1].add(head)
    return dict(edges)


# --- engine ------------------------------------------------------------------------------------

# relation, subject, object; a term of one capital letter is a variable
Atom = tuple[str, str, str]
# direction (0 asks for the tail, 1 for the head), relation, entity
Query = tuple[int, str, str]


class Rule(NamedTuple):
    """A rule whose body, if it is a path, is written from X, or from the head's only variable."""

    head: Atom
    body: tuple[Atom, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Rule:
        head, *body = re.findall(r"(\w+)\((\w+),(\w+)\)", text)
        return cls(head, tuple(body))

    def __str__(self) -> str:
        head, *body = (f"{relation}({one},{two})" for relation, one, two in (self.head, *self.body))
        return f"{head} <= {', '.join(body)}"


def is_variable(term: str) -> bool:
    return len(term) == 1


def path_end(body: Iterable[Atom], start: str) -> str | None:
    """The last term of a body that is a path from `start` as it is written; None if it is none."""
    passed = [start]
    for _, one, two in body:
        if passed[-1] not in (one, two) or not is_variable(passed[-1]):
            return None
        passed.append(two if one == passed[-1] else one)
    return passed[-1] if len(set(passed)) == len(passed) else None


def walks(
    edges: Edges, body: Sequence[Atom], term: str, start: str, bound: int = 0
) -> Iterator[tuple[str, ...]]:
    """The entities along the body, which starts at `term`, for each way to match it; all differ.

    No step but the last is taken from an entity with more than `bound` neighbours.
    """

    def go_on(rest: Sequence[Atom], term: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if not rest:
            yield path
            return
        relation, one, two = rest[0]
        reached = edges.get((path[-1], relation, int(one != term)), set())
        if len(rest) > 1 and 0 < bound < len(reached):
            return
        for entity in reached:
            if entity not in path:
                yield from go_on(rest[1:], two if one == term else one, (*path, entity))

    return go_on(body, term, (start,))


def predictions(
    facts: set[Fact], entities: Sequence[str], rule: Rule, semantics: Semantics
) -> dict[Query, set[str]]:
    """What a rule predicts for every query, known facts included, from the definition."""
    relation, subject, object_ = rule.head
    edges = adjacency(facts)
    answers: dict[Query, set[str]] = defaultdict(set)
    if is_variable(subject) and is_variable(object_) and subject != object_:
        if path_end(rule.body, "X") == "Y":
            _predict_cyclic(answers, edges, entities, rule, semantics)
        else:
            for x, y in _general_pairs(facts, entities, rule.body):
                answers[0, relation, x].add(y)
                answers[1, relation, y].add(x)
    elif "me_myself_i" in (subject, object_) or subject == object_:
        directions = [0, 1]
        if subject == object_ and semantics.reflexive_heads_only:
            directions = [1]
        elif subject != object_:
            directions = [int(is_variable(object_))]
        for x in entities:
            if not rule.body or _holds(edges, rule, x, None, semantics, False):
                for direction in directions:
                    answers[direction, relation, x].add(x)
    else:
        given = 0 if is_variable(subject) else 1
        constant = object_ if given == 0 else subject
        backward = set()
        for x in entities:
            if not rule.body:
                answers[given, relation, x].add(constant)
                continue
            if _holds(edges, rule, x, constant, semantics, False):
                answers[given, relation, x].add(constant)
            if x != constant and _holds(edges, rule, x, constant, semantics, True):
                backward.add(x)
        if not 0 < semantics.discrimination <= len(backward):
            answers[1 - given, relation, constant] = backward
    return answers


def _predict_cyclic(
    answers: dict[Query, set[str]],
    edges: Edges,
    entities: Sequence[str],
    rule: Rule,
    semantics: Semantics,
) -> None:
    for direction, (term, body) in enumerate((("X", rule.body), ("Y", rule.body[::-1]))):
        for entity in entities:
            ends = {walk[-1] for walk in walks(edges, body, term, entity, semantics.branching)}
            if len(body) == 1 or not 0 < semantics.discrimination <= len(ends):
                answers[direction, rule.head[0], entity] = ends


def _general_pairs(
    facts: set[Fact], entities: Sequence[str], body: Sequence[Atom]
) -> set[tuple[str, str]]:
    inner = sorted({term for atom in body for term in atom[1:]} - {"X", "Y"})
    pairs = set()
    for x, y, *others in itertools.permutations(entities, 2 + len(inner)):
        value = dict(zip(inner, others, strict=True)) | {"X": x, "Y": y}
        if all((value[one], relation, value[two]) in facts for relation, one, two in body):
            pairs.add((x, y))
    return pairs


def _holds(
    edges: Edges, rule: Rule, x: str, constant: str | None, semantics: Semantics, backward: bool
) -> bool:
    """Tell whether the body of an acyclic rule holds for `x`.

    `backward` if the query gives the head's constant and looks for `x`.
    """
    strict = semantics.strict_identity
    (start,) = (term for term in set(rule.head[1:]) if is_variable(term))
    end = path_end(rule.body, start)
    assert end is not None
    dangling = is_variable(end)
    if len(rule.body) == 1 and not strict:
        relation, one, _ = rule.body[0]
        reached = edges.get((x, relation, int(one != start)), set())
        return x != constant and bool(reached if dangling else reached & {end})
    if x == constant and (strict or not dangling):
        return False
    for walk in walks(edges, rule.body, start, x):
        if constant in walk[1:-1] or not (dangling or walk[-1] == end):
            continue
        if not dangling or walk[-1] != constant or (strict and backward):
            return True
    return False


class Candidate(NamedTuple):
    """A candidate with the ranks of the rules that predict it."""

    entity: str
    rules: list[int]
    level: int


def apply(
    fired: Sequence[Mapping[Query, set[str]]],
    levels: Sequence[int],
    query: Query,
    known: set[str],
    targets: set[str],
    top_x: int,
    complete: bool = True,
    allowed: set[str] | None = None,
) -> list[Candidate]:
    """The candidates of a query in the order of MAX+, those that tie by name.

    Parameters
    ----------
    fired
        The predictions of each rule, by rank.
    levels
        A number for each rule, by rank; MAX+ does not tell rules of the same number apart.
    known, targets
        Known answers, which are no candidates unless they are targets.
    allowed
        The only entities that may be candidates besides targets; all if it is not given.
    """
    rules: dict[str, list[int]] = {}
    closed = False
    for rank, predicted in enumerate(fired):
        if closed and not complete:
            break
        for entity in predicted.get(query, set()):
            if entity in rules:
                rules[entity].append(rank)
            elif not closed and (
                entity in targets
                or (entity not in known and (allowed is None or entity in allowed))
            ):
                rules[entity] = [rank]
        closed = closed or 0 < top_x <= len(rules.keys() - targets)
    keys = {entity: max_plus([levels[rank] for rank in rules[entity]]) for entity in rules}
    order = sorted(sorted(rules), key=lambda entity: keys[entity], reverse=True)
    return [
        Candidate(entity, rules[entity], sum(keys[other] > keys[entity] for other in rules))
        for entity in order
    ]


# --- mining ------------------------------------------------------------------------------------


def rule_counts(facts: set[Fact], rule: Rule) -> tuple[int, int]:
    """How many pairs a rule predicts, and how many of them are facts."""
    entities = sorted({entity for head, _, tail in facts for entity in (head, tail)})
    unbounded = dataclasses.replace(semantics("anyburl"), branching=0, discrimination=0)
    relation, subject, _ = rule.head
    asks_head = not is_variable(subject)
    answers = predictions(facts, entities, rule, unbounded)
    found = [
        (other, relation, entity) if asks_head else (entity, relation, other)
        for (direction, _, entity), others in answers.items()
        if direction == asks_head
        for other in others
    ]
    return len(found), sum(fact in facts for fact in found)


def mine(
    facts: set[Fact], longest: int, correct: int, share: float, zero: int
) -> dict[str, tuple[int, int]]:
    """All rules of the native miner's language that reach the thresholds, with their counts."""
    entities = sorted({entity for head, _, tail in facts for entity in (head, tail)})
    relations = sorted({relation for _, relation, _ in facts})

    def atoms(one: str, two: str) -> list[Atom]:
        return [(r, *ends) for r in relations for ends in ((one, two), (two, one))]

    rules: list[Rule] = []
    for relation in relations:
        for length in range(1, longest + 1):
            terms = ["X", *"ABCDEFGH"[: length - 1], "Y"]
            steps = [atoms(*ends) for ends in itertools.pairwise(terms)]
            rules += [Rule((relation, "X", "Y"), body) for body in itertools.product(*steps)]
        for constant, variable in itertools.product([*entities, "me_myself_i"], "XY"):
            ends = ("X", constant) if variable == "X" else (constant, "Y")
            rules.append(Rule((relation, *ends)))
            for other in ["A", *entities]:
                rules += [Rule((relation, *ends), (atom,)) for atom in atoms(variable, other)]
    found = {}
    for rule in rules:
        predicted, hits = rule_counts(facts, rule)
        enough = hits >= correct if rule.body else hits > zero
        if rule.body != (rule.head,) and enough and hits >= share * predicted:
            found[str(rule)] = predicted, hits
    return found


# --- fitted strategies -------------------------------------------------------------------------


def factors(
    rules: Sequence[int], confidence: Sequence[float], factor: Sequence[float], bias: float
) -> float:
    """Score by factors: weights times factors, discounted by 0.8 each."""
    terms = (-math.log(1 - confidence[r]) * factor[r] for r in sorted(rules))
    return bias + sum(0.8**i * term for i, term in enumerate(terms))


def single_linkage(similarity: Sequence[Sequence[float]], threshold: float) -> list[int]:
    """The least member of each one's cluster: what chains of similarities above it join."""
    label = list(range(len(similarity)))
    for _ in label:
        for i, j in itertools.product(range(len(label)), repeat=2):
            if similarity[i][j] > threshold:
                label[i] = label[j] = min(label[i], label[j])
    return label


def safran(rules: Sequence[int], confidence: Sequence[float], cluster: Sequence[int]) -> float:
    """Noisy-or over the greatest confidences of clusters."""
    greatest: dict[int, float] = {}
    for r in rules:
        greatest[cluster[r]] = max(greatest.get(cluster[r], 0.0), confidence[r])
    return 1 - math.prod(1 - c for c in greatest.values())


def sparse(
    rules: Sequence[int], confidence: Sequence[float], weight: Sequence[Sequence[float]]
) -> float:
    """Noisy-or over dimensions of the greatest weighted confidence in each."""
    dimensions = range(len(weight[0]))
    return 1 - math.prod(1 - max(confidence[r] * weight[r][k] for r in rules) for k in dimensions)


# --- prediction --------------------------------------------------------------------------------


def isotonic(values: Sequence[float], right: Sequence[bool]) -> dict[float, float]:
    """The isotonic regression of what is right on the value, by the min-max formula."""
    levels = sorted(set(values))

    def mean(low: float, high: float) -> float:
        inside = [r for v, r in zip(values, right, strict=True) if low <= v <= high]
        return sum(inside) / len(inside)

    return {
        level: max(
            min(mean(low, high) for high in levels if high >= level)
            for low in levels
            if low <= level
        )
        for level in levels
    }


def complete(answers: Mapping[Query, Mapping[str, float]]) -> dict[Fact, float]:
    """The facts that answer any of the queries, each with its greatest value."""
    values: dict[Fact, float] = {}
    for (direction, relation, entity), found in answers.items():
        for other, value in found.items():
            fact = (other, relation, entity) if direction else (entity, relation, other)
            values[fact] = max(value, values.get(fact, -math.inf))
    return values
