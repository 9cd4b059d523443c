"""Strategies with another number of unseen examples behind the confidence of each rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.engine.reorder import reorder
from kgagg.rules.confidence import weight_of
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score

UNSEEN = (0, 1, 5, 10, 25, 50, 100, 500)


@dataclass(frozen=True)
class Reweighing:
    """Other confidences for the rules of a rule set, which then have another order.

    Attributes
    ----------
    confidence, weight : float64[all rules]
        By the rank of the rule in the rule set.
    level : int32[all rules]
        The order by these confidences; equal for rules that MAX+ does not distinguish.
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
        return cls(confidence, weight_of(confidence), level)

    def apply(self, firings: Firings) -> Firings:
        """Return the firings with these confidences; the rows stay where they are.

        The firings must keep all rules of each candidate. The candidates are those of the rule
        set's own confidences: the pool that its topX gives, not that which this order would give.
        """
        rules, strength, level = reorder(
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
    """A strategy with other confidences, ``base@unseen``; it reads all rules of a candidate."""

    best = 0

    def __init__(self, base: Strategy, unseen: float, reweighing: Reweighing) -> None:
        self.name = f"{base.name}@{unseen:g}"
        self.base, self.unseen, self.reweighing = base, unseen, reweighing

    def score(self, firings: Firings) -> np.ndarray:
        """Return the scores by the base strategy."""
        return self.base.score(self.reweighing.apply(firings))

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return what the base strategy shows."""
        return self.base.display(self.reweighing.apply(firings), scores)

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
    return [Reweighed(base, number, table) for number, table in tables for base in bases]
