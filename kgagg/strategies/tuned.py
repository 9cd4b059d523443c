"""Strategies that choose another strategy for each relation and direction, on the valid split.

The choice for a relation and direction is the one with the highest expected MRR over its queries in
valid; of equal ones the first, which for noisy-or-top-h* is the smallest h. Relations that do not
occur in valid take the choice that is best over all queries of that direction.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import DIRECTIONS
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import values
from kgagg.rules.confidence import weight_of
from kgagg.strategies.base import TOP_H, Strategy, register
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.maximum import MaxPlus
from kgagg.strategies.noisy_or import NoisyOr, NoisyOrTopH
from kgagg.strategies.reweighed import Reweighed, Reweighing, with_unseen
from kgagg.strategies.scoring import best_rules, rank_all, score
from kgagg.util.checks import expect_arrays, expect_within


def _choice(name: str) -> Strategy:
    """Return a choice of noisy-or-top-h* by its name."""
    fixed: dict[str, Strategy] = {one.name: one for one in (MaxPlus(), NoisyOr())}
    return fixed.get(name) or NoisyOrTopH.named(name)


def top_h_choices(top_h: Sequence[int] = TOP_H) -> list[Strategy]:
    """Return the choices of noisy-or-top-h*, in order of h; see `TOP_H` for 1 and 0."""
    order = sorted(set(top_h) - {0}) + [0] * (0 in top_h)
    fixed: dict[int, Strategy] = {1: MaxPlus(), 0: NoisyOr()}
    return [fixed.get(h) or NoisyOrTopH(h) for h in order]


class Tuned(Strategy):
    """A strategy that is chosen for each relation and direction.

    Attributes
    ----------
    choices : tuple of Strategy
        Those that were chosen at all.
    chosen : int64[relations, 2]
        Index into `choices` for each relation and direction.
    default : int64[2]
        By direction, the choice for relations that do not occur in valid.
    """

    needs = ("valid",)
    choices: tuple[Strategy, ...]
    chosen: np.ndarray
    default: np.ndarray

    @abstractmethod
    def candidates(self, engine: Engine) -> list[Strategy]:
        """Return what there is to choose from."""

    def fit(self, fitting: Fitting) -> Self:
        """Rank the targets of valid by each choice, in one pass, and take the best."""
        engine, choices = fitting.engine, self.candidates(fitting.engine)
        names = (engine.graph.entities, engine.graph.relations)
        chunks = fitting.valid_chunks(best_rules(choices))
        ranks = rank_all(
            chunks, choices, fitting.triples, *names, fitting.order, threads=fitting.threads
        )
        chosen, default = tune(ranks)

        def by_direction(row: np.ndarray) -> dict[str, str]:
            return {d: choices[c].name for d, c in zip(DIRECTIONS, row, strict=True)}

        # what was never chosen is not needed any more
        used = np.union1d(chosen, default)
        rows = zip(engine.graph.relations.names(), chosen, strict=True)
        report = {
            "choices": [one.name for one in choices],
            "used": [choices[i].name for i in used],
            "default": by_direction(default),
            "relations": {name: by_direction(row) for name, row in rows},
        }
        numbers = (np.searchsorted(used, one) for one in (chosen, default))
        return self._with(report, [choices[i] for i in used], *numbers)

    def _with(
        self,
        report: Mapping[str, Any],
        choices: Sequence[Strategy],
        chosen: np.ndarray,
        default: np.ndarray,
    ) -> Self:
        best = best_rules(choices)
        parts = {"choices": tuple(choices), "chosen": chosen, "default": default, "best": best}
        return self.fitted_with(report, **parts)

    def score(self, firings: Firings) -> np.ndarray:
        """Return the scores by the choice for each query."""
        used, row = self._used(firings)
        return np.asarray(score(firings, used)[row, np.arange(len(firings))])

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return what the choice for each query shows."""
        used, row = self._used(firings)
        # what a choice makes of the scores of another may overflow, but is not shown
        with np.errstate(over="ignore"):
            shown = [one.display(firings, scores) for one in used]
        return np.asarray(np.stack(shown)[row, np.arange(len(firings))])

    def _used(self, firings: Firings) -> tuple[list[Strategy], np.ndarray]:
        """Return the choices for these queries, and which of them each candidate has."""
        queries = firings.queries
        chosen = self.chosen[queries.relation, queries.direction]
        used, row = np.unique(chosen, return_inverse=True)
        return [self.choices[i] for i in used], np.repeat(row, np.diff(firings.query_ptr))

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return what was chosen for a relation and direction."""
        return self.choices[self.chosen[relation, direction]]

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the choices, which the report names."""
        return {"chosen": self.chosen, "default": self.default}

    def check(self, rules: int, relations: int, entities: int) -> None:
        """Check that each slot has a choice, and each choice an order of all rules."""
        expect_arrays(vars(self), {"chosen": (np.int64,)}, relations, 2)
        expect_arrays(vars(self), {"default": (np.int64,)}, 2)
        for name, choice in (("chosen", self.chosen), ("default", self.default)):
            expect_within(name, choice, 0, len(self.choices) - 1)
        types = {"confidence": (np.float64,), "level": (np.int32,)}
        for one in self.choices:
            if isinstance(one, Reweighed):
                expect_arrays(vars(one.reweighing), types, rules)
                expect_within("confidence", one.reweighing.confidence, 0, 1)
                expect_within("level", one.reweighing.level, 0, rules)

    def renumbered(self, relations: np.ndarray, entities: np.ndarray) -> Self:
        """Return the strategy for other numbers of relations; new ones take the default."""
        chosen = np.where(relations[:, None] >= 0, self.chosen[relations], self.default)
        return self._with(self.report or {}, self.choices, chosen, self.default)


def tune(valid: Ranks) -> tuple[np.ndarray, np.ndarray]:
    """Choose for each relation and direction (see the module).

    Parameters
    ----------
    valid : Ranks
        Ranks on the valid split of what there is to choose from, in order of preference. Nothing of
        test may enter: filtered facts are those of train, and the other targets in valid.

    Returns
    -------
    chosen : int64[relations, 2]
        Index into the strategies.
    default : int64[2]
    """
    value = values(valid)
    relation, relations = valid.triples[:, 1], len(valid.relations)
    totals = [[np.bincount(relation, v, relations) for v in one.T] for one in value]
    # rounded, so that sums that differ in the last bits only are equal
    chosen = np.argmax(np.round(totals, 9), axis=0).T
    default = np.argmax(value.sum(axis=1).round(9), axis=0)
    chosen[np.bincount(relation, minlength=relations) == 0] = default
    return chosen, default


@register("noisy-or-top-h*")
class NoisyOrTopHStar(Tuned):
    """Noisy-or top-h with the h that does best on valid (section 5), or MAX+ for h = 1.

    Parameters
    ----------
    top_h : sequence of int
        The values to choose from (see `TOP_H`).
    """

    name = "noisy-or-top-h*"

    def __init__(self, top_h: Sequence[int] = TOP_H) -> None:
        self.top_h = tuple(top_h)
        self.best = best_rules(top_h_choices(top_h))

    @classmethod
    def named(cls, name: str, top_h: Sequence[int] = TOP_H) -> NoisyOrTopHStar:
        """Choose from these h."""
        return cls(top_h)

    def candidates(self, engine: Engine) -> list[Strategy]:
        """Return noisy-or for each h."""
        return top_h_choices(self.top_h)

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from the names of its choices."""
        choices = [_choice(name) for name in report["used"]]
        return cls()._with(report, choices, arrays["chosen"], arrays["default"])


@register("tuned")
class TunedUnseen(NoisyOrTopHStar):
    """As noisy-or-top-h*, with noisy-or, and each with several numbers of unseen examples.

    It reads all rules of a candidate, as other confidences have another order.
    """

    name = "tuned"
    best = 0

    def __init__(self, top_h: Sequence[int] = TOP_H) -> None:
        self.top_h = tuple(top_h)

    def candidates(self, engine: Engine) -> list[Strategy]:
        """Return each choice with each number of unseen examples."""
        bases = top_h_choices([*self.top_h, 0])
        return with_unseen(bases, engine.rules, engine.semantics.levels_by_value)

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the choices, and the order of rules for each number of unseen examples."""
        used = {one.unseen: one.reweighing for one in self.choices if isinstance(one, Reweighed)}
        return {
            **super().arrays(),
            "unseen": np.array(list(used), np.float64),
            "confidence": np.stack([one.confidence for one in used.values()]),
            "level": np.stack([one.level for one in used.values()]),
        }

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from the names of its choices, and the orders of the rules."""
        columns = (arrays["unseen"].tolist(), arrays["confidence"], arrays["level"])
        orders = {
            unseen: Reweighing(confidence, weight_of(confidence), level)
            for unseen, confidence, level in zip(*columns, strict=True)
        }
        choices = []
        for name in report["used"]:
            base, _, unseen = name.rpartition("@")
            choices.append(Reweighed(_choice(base), float(unseen), orders[float(unseen)]))
        return cls()._with(report, choices, arrays["chosen"], arrays["default"])
