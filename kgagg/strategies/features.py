r"""Features of candidates, from the rules that predict them and from the facts of train.

None of them names a rule or an entity: what is learned from them holds for rules and entities that
valid never shows. They come in families:

``rules``
    Confidences of the ten best rules; type, length and support of the first three; best confidence
    and summed weight of each type; number of rules, discounted sum and noisy-or.
``factors``
    The score of `kgagg.strategies.factors`.
``ranks``
    Where these sums, the best confidence and MAX+ put the candidate among the others, and how far
    it is from the best of them.
``facts``
    How many facts of the query's relation the candidate has in train.
``degrees``
    Facts of the candidate and of the query's entity in train, and answers of the query.
``similar``
    Entities are similar if they share properties, that is, edges to the same entity, rare ones more
    than frequent ones. Is the query's entity similar to those for which the candidate is known, and
    the candidate to known answers of the query? Rules of length 3 say so one by one. A
    property counts by how much its relation tells about the query's: how often entities that share
    the one share the other in train.
``walks``
    How near the candidate is to the query's entity: walks of up to three steps along edges of any
    relation, in which steps from and to entities with many facts count little.
``types``
    Whether the relations of the candidate go with those of the answers that the relation has.
``query``
    Relation, direction, number of candidates, answers per entity of the relation.
``scores``
    What another model gives the triple (see `kgagg.strategies.scores`), where there is one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.graph.adjacency import Adjacency
from kgagg.rules.confidence import TYPES
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import CYCLIC
from kgagg.strategies import _features
from kgagg.strategies.factors import DEPTH as KEPT
from kgagg.strategies.factors import DISCOUNT, finite
from kgagg.strategies.fitting import inverse
from kgagg.strategies.scores import Scores
from kgagg.util.checks import expect, expect_arrays, expect_within

FAMILIES = ("rules", "factors", "ranks", "facts", "degrees", "similar", "walks", "types", "query")
# the families of which the features sum up rules
OF_RULES = ("rules", "factors")
# of how many rules the confidence is a feature, and of how many type, length and support
DEPTH, DESCRIBED = 10, 3
# cyclic rules by length, in place of one type
LENGTHS = ("cyclic 1", "cyclic 2", "cyclic 3 or more")
KINDS = (*TYPES, *LENGTHS)
# properties that more entities have say nothing; of more answers every second, third, ... is taken
_MOST = (3000, 50)
# walks do not go on from entities with more facts
_WIDEST = 1000
# how many properties of an entity and relation are tried for agreement, and how many count for a
# relation before it has any
_SAMPLED, _PRIOR = 8, 20.0
_SIMILAR = (
    "similar entities",
    "most similar entity",
    "mean similarity of its entities",
    "similarity of its entities",
    "similarity to known answers",
    "similarity to the query's entity",
)
_WALKS = ("walks of 1 step", "walks of 2 steps", "walks of 3 steps", "share of near neighbours")
_TYPES = ("mean affinity", "greatest affinity", "least affinity", "affinity")
# what the arrays of scores are called in a file
_SCORES = "scores."
_PLACE = ("rank", "distance to the best", "distance to the others")


class Column(NamedTuple):
    """A feature.

    Attributes
    ----------
    family : str
        See `FAMILIES`.
    name : str
    rule : int
        The place of the rule that it describes; -1 for none or all.
    """

    family: str
    name: str
    rule: int = -1


def _columns() -> tuple[Column, ...]:
    result = [Column("rules", f"confidence of rule {i + 1}", i) for i in range(DEPTH)]
    for i in range(DESCRIBED):
        result += [
            Column("rules", f"{what} of rule {i + 1}", i) for what in ("type", "length", "support")
        ]
    for kind in KINDS:
        result += [Column("rules", f"{what}, {kind}") for what in ("best confidence", "weight")]
    for what in ("best plain confidence", "best support", "best product", "sum of confidences"):
        result.append(Column("rules", what))
    result += [Column("rules", name) for name in ("number of rules", "noisy-or", "discounted sum")]
    result.append(Column("factors", "factors"))
    result.append(Column("ranks", "rank, max+"))
    for what in ("discounted sum", "noisy-or", "confidence", "factors"):
        family = "factors" if what == "factors" else "ranks"
        result += [Column(family, f"{place}, {what}") for place in _PLACE]
    result.append(Column("facts", "facts of the candidate with the relation"))
    for what in ("facts of the candidate", "known answers", "facts of the query's entity"):
        result.append(Column("degrees", what))
    for family, names, ranked in (
        ("similar", _SIMILAR, _SIMILAR),
        ("walks", _WALKS, _WALKS[1:3]),
        ("types", _TYPES, _TYPES[:1]),
    ):
        result += [Column(family, name) for name in names]
        result += [Column(family, f"{place}, {name}") for name in ranked for place in _PLACE[:2]]
    for what in ("candidates", "direction", "answers", "answers back", "facts", "relation"):
        result.append(Column("query", what))
    return tuple(result)


COLUMNS = _columns()
# after these, where another model has scores
OF_SCORES = tuple(
    Column("scores", name) for name in ("score", *(f"{p}, score" for p in _PLACE[:2]))
)
# the one that is a number without an order
RELATION = len(COLUMNS) - 1


class Chosen(NamedTuple):
    """The candidates of each query that are described.

    Attributes
    ----------
    row : int64[n]
        By descending score within a query.
    ptr : int64[queries + 1]
        Those of each query.
    """

    row: np.ndarray
    ptr: np.ndarray

    @classmethod
    def best(cls, firings: Firings, scores: np.ndarray, cut: int) -> Self:
        """Choose the best `cut` of each query by `scores`, float64[candidates].

        Of equal ones those that MAX+ prefers, then those with the lower number.
        """
        size = np.diff(firings.query_ptr)
        query = np.repeat(np.arange(len(size)), size)
        order = np.lexsort((firings.candidate, firings.level, -scores, query))
        place = np.arange(len(order)) - firings.query_ptr[query]
        return cls(order[place < cut], pointers(np.minimum(size, cut)))


@dataclass(frozen=True)
class Features:
    """What features are computed with.

    Attributes
    ----------
    kind : uint8[all rules]
        Position in `KINDS`.
    length : uint8[all rules]
    support, plain : float32[all rules]
        See `_features.of_rules`.
    train : int32[n, 3]
    relation : int32[relations]
        The number by which each relation was known when the ranker was fitted, -1 for none.
    lift : float64[2 * relations, 2 * relations]
        How often entities that share a property by one key (column) share one by another (row). It
        is estimated on a sample.
    entities : int
    scores : Scores or None
        By another model.
    """

    kind: np.ndarray
    length: np.ndarray
    support: np.ndarray
    plain: np.ndarray
    train: np.ndarray
    relation: np.ndarray
    lift: np.ndarray
    entities: int
    scores: Scores | None = None

    @classmethod
    def of(cls, engine: Engine, scores: Scores | None = None) -> Self:
        """Take what features need from rules and graph."""
        graph = engine.graph
        kind, length, support, plain = _of_rules(engine.rules)
        relations, entities = len(graph.relations), len(graph.entities)
        lift = _Facts.build(graph.train, entities, relations).agreement()
        number = np.arange(relations, dtype=np.int32)
        return cls(kind, length, support, plain, graph.train, number, lift, entities, scores)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the features are."""
        return COLUMNS + (OF_SCORES if self.scores else ())

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return all of it, as `restore` takes it."""
        names = ("kind", "length", "support", "plain", "train", "relation", "lift")
        scores = self.scores.arrays() if self.scores else {}
        return {
            **{name: getattr(self, name) for name in names},
            "entities": np.array([self.entities]),
            **{f"{_SCORES}{name}": array for name, array in scores.items()},
        }

    def check(self, rules: int, relations: int, entities: int) -> None:
        """Check that there is a row for each rule, and that all numbers are in range."""
        columns: dict[str, tuple[type, ...]] = {
            **dict.fromkeys(("kind", "length"), (np.uint8,)),
            **dict.fromkeys(("support", "plain"), (np.float32,)),
        }
        expect_arrays(vars(self), columns, rules)
        expect_within("kind", self.kind, 0, len(KINDS) - 1)
        expect_arrays(vars(self), {"train": (np.int32,)}, len(self.train), 3)
        expect_within("train", self.train[:, ::2], 0, entities - 1)
        expect_within("train", self.train[:, 1], 0, relations - 1)
        expect_arrays(vars(self), {"relation": (np.int32,)}, relations)
        expect_within("relation", self.relation, -1, relations - 1)
        expect_arrays(vars(self), {"lift": (np.float64,)}, 2 * relations, 2 * relations)
        expect(self.entities == entities, "has other entities than names")
        if self.scores:
            self.scores.check(relations, entities)

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Make features from what `arrays` gave."""
        parts = {name: array for name, array in arrays.items() if not name.startswith(_SCORES)}
        others = {n.removeprefix(_SCORES): a for n, a in arrays.items() if n not in parts}
        entities = int(parts.pop("entities")[0])
        scores = Scores.restore(others) if others else None
        return cls(**parts, entities=entities, scores=scores)

    def renumbered(self, relations: np.ndarray, entities: np.ndarray) -> Features:
        """Return them for other numbers (see `Strategy.renumbered`)."""
        places = (inverse(entities, self.entities), inverse(relations, len(self.relation)))
        columns = (places[0], places[1], places[0])
        train = np.stack([new[old] for new, old in zip(columns, self.train.T, strict=True)], 1)
        known = np.where(relations >= 0, self.relation[relations], -1).astype(np.int32)
        key = (2 * relations[:, None] + np.array([0, 1])).ravel()
        lift = np.full((len(key), len(key)), self.lift.mean() if self.lift.size else 1.0)
        old = np.flatnonzero(key >= 0)
        lift[np.ix_(old, old)] = self.lift[np.ix_(key[old], key[old])]
        return dataclasses.replace(
            self,
            train=train[(train >= 0).all(axis=1)].astype(np.int32),
            relation=known,
            lift=lift,
            entities=len(entities),
            scores=self.scores and self.scores.renumbered(relations, entities, len(self.relation)),
        )

    @cached_property
    def graph(self) -> _Facts:
        """The facts of train, and what is computed from them once."""
        return _Facts.build(self.train, self.entities, len(self.relation))

    def __call__(self, firings: Firings, chosen: Chosen, scores: np.ndarray) -> np.ndarray:
        """Describe candidates: float32[n, columns] (see `columns`).

        Parameters
        ----------
        firings : Firings
            With the best rules of each candidate, as many as factors have.
        chosen : Chosen
        scores : float64[candidates]
            By factors.
        """
        row, ptr = chosen
        slots = firings.queries.slots
        size = np.diff(ptr)
        query = np.repeat(np.arange(len(size)), size)
        slot, entity = slots[query], firings.queries.entity[query]
        candidate = firings.candidate[row]
        weight = finite(firings.weight)
        first = (KEPT, DEPTH, DESCRIBED, len(KINDS))
        rules = np.zeros((len(row), DEPTH + 3 * DESCRIBED + 2 * len(KINDS) + 4), np.float32)
        _features.of_rules(
            row,
            firings.rule_ptr,
            firings.rules,
            firings.confidence,
            weight,
            self.kind,
            self.length,
            self.support,
            self.plain,
            first,
            rules,
        )
        discounted = rules[:, :DEPTH].astype(np.float64)
        discounted = finite(-np.log1p(-np.minimum(discounted, 1.0))) @ DISCOUNT[:DEPTH]
        strength = np.minimum(firings.strength[row], 400.0)
        graph = self.graph
        similar = graph.similar(self.lift, slots, firings.queries.entity, ptr, candidate)
        walks = graph.walks(firings.queries.entity, ptr, candidate)
        types = graph.types(slots, ptr, candidate)
        parts = [
            rules,
            np.log1p(firings.count[row]),
            strength,
            discounted,
            scores[row],
            _relative(ptr, -firings.level[row])[:, :1],
            _relative(ptr, discounted),
            _relative(ptr, strength),
            _relative(ptr, rules[:, 0]),
            _relative(ptr, scores[row]),
            graph.count(candidate, slot ^ 1),
            graph.degree[candidate],
            graph.count(entity, slot),
            graph.degree[entity],
            similar,
            *(_relative(ptr, column)[:, :2] for column in similar.T),
            walks,
            *(_relative(ptr, column)[:, :2] for column in walks.T[1:3]),
            types,
            _relative(ptr, types[:, 0])[:, :2],
            size[query],
            slot & 1,
            graph.answers[slot],
            graph.answers[slot ^ 1],
            graph.facts[slot >> 1],
            self.relation[slot >> 1],
        ]
        if self.scores:
            given = self.scores(firings, row)
            parts += [given, _relative(ptr, np.nan_to_num(given, nan=self.scores.least))[:, :2]]
        result = np.empty((len(row), len(self.columns)), np.float32)
        at = 0
        for part in parts:
            columns = part if part.ndim == 2 else part[:, None]
            result[:, at : at + columns.shape[1]] = columns
            at += columns.shape[1]
        return result


@dataclass(frozen=True)
class _Facts:
    """The facts of train, to compare entities by.

    Attributes
    ----------
    adjacency : Adjacency
    mate : int32[2 * facts]
        See `_features.mates`.
    weight : float64[segments]
        See `_features.similar`; less for a property that many entities have.
    norm : float64[entities]
    affinity : float32[2 * relations, 2 * relations]
        See `_features.of_types`.
    degree : int64[entities]
    answers : float64[2 * relations]
        Known answers per entity that has some, by slot.
    facts : float64[relations]
        The logarithm of their number.
    """

    adjacency: Adjacency
    mate: np.ndarray
    weight: np.ndarray
    norm: np.ndarray
    affinity: np.ndarray
    degree: np.ndarray
    answers: np.ndarray
    facts: np.ndarray

    @classmethod
    def build(cls, train: np.ndarray, entities: int, relations: int) -> Self:
        """Index triples."""
        from scipy.sparse import csr_matrix

        adjacency = Adjacency.build(train, entities, relations)
        segment_ptr, segment_key = adjacency.segment_ptr, adjacency.segment_key
        mate = np.empty(len(adjacency.neighbours), np.int32)
        _features.mates(adjacency.entity_ptr, segment_key, segment_ptr, adjacency.neighbours, mate)
        size = np.diff(segment_ptr)
        weight = np.log(size + 2.0) ** -2
        edges = np.diff(segment_ptr[adjacency.entity_ptr])
        owner = np.repeat(np.arange(entities), edges)
        norm = np.sqrt(np.bincount(owner, weight[mate], entities))
        keys = 2 * relations
        has = np.repeat(np.arange(entities), np.diff(adjacency.entity_ptr))
        table = csr_matrix((np.ones(len(has)), (has, segment_key)), (entities, keys))
        both = (table.T @ table).toarray()
        alone = np.diag(both)
        chance = np.outer(alone, alone) / max(1, entities)
        facts = np.bincount(segment_key, size, keys)
        return cls(
            adjacency,
            mate,
            weight,
            norm,
            np.log((both + 0.5) / (chance + 0.5)).astype(np.float32),
            edges.astype(np.int64),
            facts / np.maximum(1, alone),
            np.log1p(facts[::2]),
        )

    def count(self, entity: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Count the facts of each entity with each step key: int64[n]."""
        result = np.empty(len(entity), np.int64)
        adjacency = self.adjacency
        _features.count_facts(
            adjacency.entity_ptr,
            adjacency.segment_key,
            adjacency.segment_ptr,
            entity,
            key,
            result,
        )
        return result

    def agreement(self) -> np.ndarray:
        """Return how often properties agree (see `Features.lift`)."""
        adjacency = self.adjacency
        agree, number = np.zeros((2, len(self.affinity), len(self.affinity)))
        _features.agreement(
            adjacency.entity_ptr,
            adjacency.segment_key,
            adjacency.segment_ptr,
            adjacency.neighbours,
            self.mate,
            _SAMPLED,
            agree,
            number,
        )
        # towards the mean of all relations, and never 0
        mean = (agree.sum(axis=1, keepdims=True) + 1e-3) / (number.sum(axis=1, keepdims=True) + 1.0)
        return np.asarray((agree + _PRIOR * mean) / (number + _PRIOR))

    def similar(
        self,
        lift: np.ndarray,
        slot: np.ndarray,
        entity: np.ndarray,
        ptr: np.ndarray,
        candidate: np.ndarray,
    ) -> np.ndarray:
        """Compare candidates with what is known: float32[n, 6]; see `_features.similar`."""
        adjacency = self.adjacency
        result = np.zeros((len(candidate), len(_SIMILAR)), np.float32)
        _features.similar(
            adjacency.entity_ptr,
            adjacency.segment_key,
            adjacency.segment_ptr,
            adjacency.neighbours,
            self.mate,
            self.weight,
            self.norm,
            lift,
            slot,
            entity,
            ptr,
            candidate,
            _MOST,
            np.zeros(len(self.norm)),
            np.empty(len(self.norm), np.int32),
            np.zeros(len(self.weight)),
            np.empty(len(self.weight), np.int32),
            result,
        )
        return result

    def walks(self, entity: np.ndarray, ptr: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """Walk from entities to candidates: float32[n, 4]; see `_features.walks`."""
        adjacency, entities = self.adjacency, len(self.degree)
        result = np.empty((len(candidate), len(_WALKS)), np.float32)
        _features.walks(
            adjacency.entity_ptr,
            adjacency.segment_ptr,
            adjacency.neighbours,
            np.where(self.degree > 0, 1.0 / np.sqrt(np.maximum(1, self.degree)), 0.0),
            _WIDEST**-0.5,
            entity,
            ptr,
            candidate,
            np.zeros(entities),
            np.empty(entities, np.int32),
            np.zeros(entities),
            np.empty(entities, np.int32),
            result,
        )
        return result

    def types(self, slot: np.ndarray, ptr: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """Compare the relations of candidates: float32[n, 4]; see `_features.of_types`."""
        adjacency = self.adjacency
        result = np.zeros((len(candidate), len(_TYPES)), np.float32)
        _features.of_types(
            adjacency.entity_ptr,
            adjacency.segment_key,
            self.affinity,
            slot,
            ptr,
            candidate,
            result,
        )
        return result


def _of_rules(rules: RuleSet) -> tuple[np.ndarray, ...]:
    """Return kind, length, support and plain confidence of each rule (see `Features`)."""
    by_length = len(TYPES) + np.clip(rules.length, 1, len(LENGTHS)) - 1
    kind = np.where(rules.kind == CYCLIC, by_length, rules.types).astype(np.uint8)
    correct = rules.correct.astype(np.float64)
    return (
        kind,
        rules.length.astype(np.uint8),
        np.log1p(correct).astype(np.float32),
        (correct / np.maximum(1, rules.predicted)).astype(np.float32),
    )


def _relative(ptr: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Compare the values of candidates within queries: float32[n, 3]."""
    result = np.empty((len(value), len(_PLACE)), np.float32)
    _features.relative(ptr, np.ascontiguousarray(value, np.float32), result)
    return result


def pointers(sizes: np.ndarray) -> np.ndarray:
    """Return where parts of these sizes begin and end: int64[n + 1]."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
