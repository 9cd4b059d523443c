"""Choose a strategy for each relation and direction on the valid split.

A tuned strategy ranks a query as the chosen strategy does. So tuning needs the ranks of its choices
on valid and nothing else, and its ranks on test are picked from those of the choices: one pass over
each split, whatever the number of choices.

The choice for a relation and direction is the one with the highest expected MRR over its queries in
valid; of equal ones the first, which for noisy-or-top-h* is the smallest h. Relations that do not
occur in valid take the choice that is best over all queries of that direction.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgagg.aggregation import _kernels
from kgagg.aggregation.registry import Strategy, best_rules, score, strategy
from kgagg.engine.firings import Firings
from kgagg.errors import InputError
from kgagg.evaluation import DIRECTIONS, Ranks, values
from kgagg.files import blocks, writing
from kgagg.rules.ruleset import RuleSet
from kgagg.vocabulary import Vocabulary

# h = 1 means MAX+, as in the paper; 0 means all rules, which the paper adds for AMIE
TOP_H = (1, 4, 5, 6, 7, 8, 9, 10)
UNSEEN = (0, 1, 5, 10, 25, 50, 100, 500)


def top_h(values: Sequence[int] = TOP_H) -> list[Strategy]:
    """Return the choices of noisy-or-top-h*, in order of h (see `TOP_H` for 1 and 0)."""
    names = {1: "max+", 0: "noisy-or"}
    order = sorted(set(values) - {0}) + [0] * (0 in values)
    return [strategy(names.get(h, f"noisy-or-top-{h}")) for h in order]


class Tuned(Strategy):
    """A strategy that was chosen for each relation and direction.

    Parameters
    ----------
    name : str
    choices : sequence of Strategy
    chosen : int64[relations, 2]
        Index into `choices` for each relation and direction.
    default : int64[2]
        The choice for relations that do not occur in valid.
    """

    def __init__(
        self, name: str, choices: Sequence[Strategy], chosen: np.ndarray, default: np.ndarray
    ) -> None:
        self.name, self.choices, self.chosen = name, tuple(choices), chosen
        self.default = default
        self.best = best_rules([self.choices[i] for i in np.unique(chosen)])

    def score(self, firings: Firings) -> np.ndarray:
        """Return the scores by the choice for each query."""
        used, row = self._used(firings)
        return np.asarray(score(firings, used)[row, np.arange(len(firings))])

    def value(self, firings: Firings, score: np.ndarray) -> np.ndarray:
        """Return what the choice for each query shows."""
        used, row = self._used(firings)
        values = [one.value(firings, score) for one in used]
        return np.asarray(np.stack(values)[row, np.arange(len(firings))])

    def _used(self, firings: Firings) -> tuple[list[Strategy], np.ndarray]:
        """Return the choices for these queries, and which of them each candidate has."""
        queries = firings.queries
        chosen = self.chosen[queries.relation, queries.direction]
        used, row = np.unique(chosen, return_inverse=True)
        return [self.choices[i] for i in used], np.repeat(row, np.diff(firings.query_ptr))

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return what was chosen for a relation and direction."""
        return self.choices[self.chosen[relation, direction]]

    def rank(self, ranks: Ranks) -> Ranks:
        """Pick the ranks of this strategy from `ranks`, which has those of its choices."""
        chosen = self.chosen[ranks.triples[:, 1]]
        rows = np.array([ranks.strategies.index(one.name) for one in self.choices])[chosen]
        triple, direction = np.indices(chosen.shape)
        return dataclasses.replace(
            ranks,
            strategies=(self.name,),
            optimistic=ranks.optimistic[rows, triple, direction][None],
            pessimistic=ranks.pessimistic[rows, triple, direction][None],
        )

    def to_json(self, relations: Vocabulary) -> dict[str, Any]:
        """Return the name of the choice for each relation and direction."""
        rows = zip(relations.names(), self.chosen, strict=True)
        return {name: self._names(chosen) for name, chosen in rows}

    def _names(self, chosen: np.ndarray) -> dict[str, str]:
        return {d: self.choices[c].name for d, c in zip(DIRECTIONS, chosen, strict=True)}

    def save(self, path: str | os.PathLike[str], relations: Vocabulary) -> None:
        """Write the choices as JSON, by the names of relations."""
        content = {
            "strategy": self.name,
            "choices": [one.name for one in self.choices],
            "default": self._names(self.default),
            "relations": self.to_json(relations),
        }
        with writing(path) as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str], relations: Vocabulary) -> Tuned:
        """Read what `save` wrote, for these relations; new ones take the default.

        Raises
        ------
        InputError
            If it is no such file.
        """
        try:
            content = json.loads(b"".join(blocks(path)))
            numbers = {name: i for i, name in enumerate(content["choices"])}
            default, rows = content["default"], content["relations"]
            chosen = [
                [numbers[rows.get(name, default)[d]] for d in DIRECTIONS]
                for name in relations.names()
            ]
            name = content["strategy"]
            last = np.array([numbers[default[d]] for d in DIRECTIONS])
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path}: expected a file that `kgagg tune` wrote") from None
        return cls(name, [strategy(one) for one in numbers], np.array(chosen), last)


def tune(name: str, choices: Sequence[Strategy], valid: Ranks) -> Tuned:
    """Choose for each relation and direction (see the module).

    Parameters
    ----------
    name : str
        The name of the tuned strategy.
    choices : sequence of Strategy
        In order of preference where they do equally well.
    valid : Ranks
        Ranks on the valid split, of these strategies among others. Nothing of test may enter: known
        facts are those of train, and the other answers in valid are left out.
    """
    if not len(valid.triples):
        raise InputError(f"{name} is tuned on the valid split, which is empty")
    rows = [valid.strategies.index(one.name) for one in choices]
    value = values(valid)[rows]
    relation, relations = valid.triples[:, 1], len(valid.relations)
    totals = [[np.bincount(relation, v, relations) for v in one.T] for one in value]
    # rounded, so that sums that differ in the last bits only are equal
    chosen = np.argmax(np.round(totals, 9), axis=0).T
    default = np.argmax(value.sum(axis=1).round(9), axis=0)
    chosen[np.bincount(relation, minlength=relations) == 0] = default
    return Tuned(name, choices, chosen, default)


# --- another number of unseen examples ---------------------------------------------------------


@dataclass(frozen=True)
class Reweighing:
    """Other confidences for the rules of a rule set, which then have another order.

    Attributes
    ----------
    confidence, weight : float64[all rules]
        By the rank of the rule in the rule set.
    level : int32[all rules]
        The order by these confidences; equal for rules that MAX+ does not tell apart.
    """

    confidence: np.ndarray
    weight: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, rules: RuleSet, unseen: float, by_value: bool) -> Reweighing:
        """Take another number of unseen examples for the confidences of `rules`.

        Parameters
        ----------
        rules : RuleSet
        unseen : float
        by_value : bool
            Rules of equal confidence have one level (see `kgagg.engine.semantics`).
        """
        settings = dataclasses.replace(rules.settings, unseen=unseen)
        predicted = rules.predicted
        if settings.pca and rules.pca_predicted is not None:
            predicted = np.where(rules.pca_predicted >= 0, rules.pca_predicted, predicted)
        confidence = settings.of(rules.types, predicted, rules.correct)
        order = np.lexsort((rules.line, rules.source, -confidence))
        new = np.diff(confidence[order], prepend=np.inf) != 0
        level = np.empty(len(order), np.int32)
        level[order] = np.cumsum(new) - 1 if by_value else np.arange(len(order))
        with np.errstate(divide="ignore"):
            return cls(confidence, -np.log1p(-confidence), level)

    def apply(self, firings: Firings) -> Firings:
        """Return the firings with these confidences; the rows stay where they are.

        The firings must keep all rules of each candidate. The candidates are those of the rule
        set's own confidences: the pool that its topX gives, not that which this order would give.
        """
        rules, strength, level = _kernels.reorder(
            firings.query_ptr, firings.rule_ptr, firings.rules, self.level, self.weight
        )
        return dataclasses.replace(
            firings,
            rules=rules,
            strength=strength,
            level=level,
            confidence=self.confidence,
            weight=self.weight,
        )


class Reweighed(Strategy):
    """A strategy with other confidences; it reads all rules of a candidate."""

    best = 0

    def __init__(self, name: str, base: Strategy, reweighing: Reweighing) -> None:
        self.name, self.base, self.reweighing = name, base, reweighing

    def score(self, firings: Firings) -> np.ndarray:
        """Return the scores by the base strategy."""
        return self.base.score(self.reweighing.apply(firings))

    def value(self, firings: Firings, score: np.ndarray) -> np.ndarray:
        """Return what the base strategy shows."""
        return self.base.value(self.reweighing.apply(firings), score)

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return what each rule adds in the base strategy."""
        order = np.argsort(self.reweighing.level[rules], kind="stable")
        result = np.empty(len(rules))
        result[order] = self.base.contributions(rules[order], self.reweighing.confidence)
        return result

    @classmethod
    def score_many(cls, strategies: Sequence[Reweighed], firings: Firings) -> np.ndarray:
        """Score by several strategies, putting the rules into each order once."""
        scores = np.empty((len(strategies), len(firings)))
        for reweighing in {id(one.reweighing): one.reweighing for one in strategies}.values():
            rows = [i for i, one in enumerate(strategies) if one.reweighing is reweighing]
            scores[rows] = score(reweighing.apply(firings), [strategies[i].base for i in rows])
        return scores


def with_unseen(
    bases: Sequence[Strategy],
    rules: RuleSet,
    by_value: bool,
    unseen: Sequence[float] = UNSEEN,
) -> list[Strategy]:
    """Return the choices of `tuned`: each base strategy with each number of unseen examples.

    Parameters
    ----------
    bases : sequence of Strategy
    rules : RuleSet
    by_value : bool
        See `Reweighing.of`.
    unseen : sequence of float

    Returns
    -------
    list of Strategy
        Named ``base@unseen``.
    """
    tables = [(number, Reweighing.of(rules, number, by_value)) for number in unseen]
    return [
        Reweighed(f"{base.name}@{number:g}", base, table)
        for number, table in tables
        for base in bases
    ]
