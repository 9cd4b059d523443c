r"""An aggregator that learns on valid what rules and candidates are worth.

The score of a candidate that the rules 1, 2, ... predict, in descending order of confidence, is

.. math:: \sum_i 0.8^{i-1} \, f_i \, (-\log(1 - conf_i)) + b

which is noisy-or with a smooth cut in place of top-h, when all factors f are 1 and b is 0. The
factor of a rule is one plus a change for the rule itself and changes that it shares with rules of
the same head relation: those of its type, with its body, and with its head constant. A rule that
seldom fires on valid thus takes after its kin. The bias b depends on how many facts of the query's
relation the candidate has in train already: one that has a value of a functional relation needs no
other. It is the sum of one for the relation and direction and one for all.

Changes and biases follow the gradient of a softmax over the candidates of each query in valid, a
convex loss, for as many epochs as serve triples that were left out best; none, if learning does not
help. The other answers of valid are no negatives, but answers that were left out are: so are those
of test when all of valid is learned from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.graph.graph import Graph
from kgagg.ranking.targets import reciprocal_ranks, target_rows
from kgagg.rules.confidence import weight_of
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import SIDE
from kgagg.strategies import _factors
from kgagg.strategies.base import Strategy, register
from kgagg.strategies.fitting import Fitting, by_slot, inverse
from kgagg.util.checks import expect, expect_arrays, expect_ascending, expect_within
from kgagg.util.progress import Progress

DEPTH, EPOCHS, FOLDS = 20, 4, 2
SCALES = (1.0, 2.0, 4.0, 8.0)
# of the weight of the first rule, the second, ...
DISCOUNT = 0.8 ** np.arange(DEPTH)
# of the rule itself, its type, its body, its head constant, and of the bias
_RATES = np.array([0.05, 0.02, 0.02, 0.02, 0.003])
# the number of facts at which a new bin begins
_EDGES = np.array([1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024])


@register("factors")
class Factors(Strategy):
    """Discounted noisy-or with learned factors and biases (see the module).

    Attributes
    ----------
    factor : float64[all rules]
    bias : float64[2 * relations + 1, bins]
        By slot (twice the relation, plus the direction); the last row counts for all.
    key : int64[n]
        Ascending: ``slot * entities + entity``, for entities that have facts in train.
    bin : uint8[n]
        Their bins; an entity without facts is in bin 0.
    entities : int
    """

    name = "factors"
    best = DEPTH
    needs = ("train", "valid")
    factor: np.ndarray
    bias: np.ndarray
    key: np.ndarray
    bin: np.ndarray
    entities: int

    def score(self, firings: Firings) -> np.ndarray:
        """Return the discounted sum of the weights, with factors and bias."""
        return np.asarray(
            _factors.score(
                firings.query_ptr,
                firings.queries.slots,
                firings.rule_ptr,
                firings.rules,
                self.factor * finite(firings.weight),
                DISCOUNT,
                self.bias,
                _bins(firings, self.key, self.bin, self.entities),
            )
        )

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return the discounted weight of each rule, with its factor."""
        discount = np.zeros(len(rules))
        discount[:DEPTH] = DISCOUNT[: len(rules)]
        weight = finite(weight_of(confidence[rules]))
        return np.asarray(discount * weight * self.factor[rules])

    def explained(self, firings: Firings, row: int) -> tuple[np.ndarray, dict[str, float]]:
        """Return what rules add to the score of a candidate, and its bias."""
        rules, others = super().explained(firings, row)
        query = int(np.searchsorted(firings.query_ptr, row, side="right")) - 1
        part = firings.part(query, query + 1)
        bin = _bins(part, self.key, self.bin, self.entities)[row - firings.query_ptr[query]]
        bias = self.bias[[part.queries.slots[0], -1], bin].sum()
        return rules, others | {"facts": float(bias)}

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return factors and biases."""
        return {
            "factor": self.factor,
            "bias": self.bias,
            "key": self.key,
            "bin": self.bin,
            "entities": np.array([self.entities]),
        }

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from factors and biases."""
        parts = dict(arrays)
        expect_arrays(parts, {"entities": (np.int64,)}, 1)
        entities = int(parts.pop("entities")[0])
        return cls.fitted_with(report, **parts, entities=entities)

    def check(self, rules: int, relations: int, entities: int) -> None:
        """Check that each rule has a factor, each slot its biases, and each key a bin."""
        bins, keys = len(_EDGES) + 1, len(self.key)
        expect_arrays(vars(self), {"factor": (np.float64,)}, rules)
        expect_arrays(vars(self), {"bias": (np.float64,)}, 2 * relations + 1, bins)
        expect_arrays(vars(self), {"key": (np.int64,), "bin": (np.uint8,)}, keys)
        expect(self.entities == entities, "has other entities than names")
        expect_within("key", self.key, 0, 2 * relations * entities - 1)
        expect_ascending("key", self.key, np.array([0, keys]))
        expect_within("bin", self.bin, 0, bins - 1)

    def renumbered(self, relations: np.ndarray, entities: np.ndarray) -> Self:
        """Return the strategy for other numbers; what is new has no facts and no bias."""
        none = np.zeros((2, self.bias.shape[1]))
        bias = np.concatenate([by_slot(self.bias[:-1], relations, none), self.bias[-1:]])
        slot, entity = np.divmod(self.key, self.entities)
        relation = inverse(relations, len(self.bias) // 2)[slot >> 1]
        entity = inverse(entities, self.entities)[entity]
        kept = np.flatnonzero((relation >= 0) & (entity >= 0))
        key = (2 * relation[kept] + (slot[kept] & 1)) * len(entities) + entity[kept]
        order = np.argsort(key)
        return self.fitted_with(
            self.report or {},
            factor=self.factor,
            bias=bias,
            key=key[order],
            bin=self.bin[kept][order],
            entities=len(entities),
        )

    def fit(self, fitting: Fitting) -> Self:
        """Choose the number of epochs on triples that are left out, then learn from all."""
        return self.cross_fit(fitting, fitting.valid(self.best), FOLDS)[0]

    def cross_fit(
        self,
        fitting: Fitting,
        valid: Firings,
        folds: int,
        *,
        epochs: int = EPOCHS,
        biased: bool = True,
    ) -> tuple[Self, np.ndarray, np.ndarray]:
        """Fit on all triples, and score each fold of triples by what the others teach.

        Parameters
        ----------
        fitting : Fitting
        valid : Firings
            Of the valid split, with the best `DEPTH` rules of each candidate.
        folds : int
        epochs : int
            The most that are tried.
        biased : bool
            If false, all biases are 0.

        Returns
        -------
        fitted : Factors
        fold : int64[targets]
            The fold of each target: both targets of a triple are in the same one.
        scores : float64[folds, candidates]
            By factors and biases that were learned without this fold.
        """
        engine, seed = fitting.engine, fitting.seed
        key, bin = _degrees(engine.graph)
        entities = len(engine.graph.entities)
        bins = _bins(valid, key, bin, entities)
        rates = _RATES * np.array([1, 1, 1, 1, biased])
        slots = 2 * len(engine.graph.relations)
        lesson = _Lesson(valid, bins, _groups(engine.rules), slots, rates)
        triples = valid.queries.triple
        fold = np.random.default_rng(seed).integers(folds, size=triples.max() + 1)[triples]
        with Progress("learn", folds * epochs, "epochs", quiet=fitting.quiet) as progress:

            def held_out(number: int) -> tuple[np.ndarray, np.ndarray]:
                sums, scores = [], []
                for values in lesson.epochs(fold != number, epochs, seed):
                    scores.append(lesson.scores(*values))
                    mrr = reciprocal_ranks(valid, scores[-1][None])[0]
                    sums.append(mrr[fold == number].sum())
                    progress.add(int(len(sums) > 1))
                return np.array(sums), np.stack(scores)

            with ThreadPoolExecutor(min(fitting.workers, folds)) as pool:
                found = list(pool.map(held_out, range(folds)))
        curve = np.sum([sums for sums, _ in found], axis=0) / len(fold)
        best = int(np.argmax(np.round(curve, 9)))
        *_, (factor, bias) = lesson.epochs(np.ones(len(fold), np.bool_), best, seed)
        report = {
            "along": "epochs",
            "curve": [[epoch, mrr] for epoch, mrr in enumerate(curve.tolist())],
            "epochs": best,
            "scale": lesson.scale,
        }
        fitted = self.fitted_with(
            report, factor=factor, bias=bias, key=key, bin=bin, entities=entities
        )
        return fitted, fold, np.stack([scores[best] for _, scores in found])


class _Lesson:
    """What there is to learn from.

    Parameters
    ----------
    valid : Firings
    bins : uint8[candidates]
    group : int32[all rules, groups]
    slots : int
    rates : float64[groups + 1]
        Learning rates, the last one of the bias.
    """

    def __init__(
        self,
        valid: Firings,
        bins: np.ndarray,
        group: np.ndarray,
        slots: int,
        rates: np.ndarray = _RATES,
    ) -> None:
        self.valid, self.bins, self.group, self.slots = valid, bins, group, slots
        self.rates = rates
        queries = valid.queries
        self.weight = finite(valid.weight)
        self.slot = queries.slots
        self.row = target_rows(valid)
        every, still = np.ones(len(self.row), np.bool_), np.zeros(len(_RATES))
        order = np.arange(len(queries))
        losses = [self._step(order, every, s, still, self._start()) for s in SCALES]
        self.scale = SCALES[int(np.argmin(losses))]

    def _start(self) -> tuple[np.ndarray, ...]:
        changes = (self.group.shape[1], len(self.weight))
        biases = (self.slots + 1, len(_EDGES) + 1)
        return np.zeros(changes), np.ones(changes), np.zeros(biases), np.ones(biases)

    def _step(
        self,
        order: np.ndarray,
        used: np.ndarray,
        scale: float,
        rates: np.ndarray,
        state: tuple[np.ndarray, ...],
    ) -> float:
        valid = self.valid
        return float(
            _factors.learn(
                order,
                valid.query_ptr,
                self.slot,
                valid.queries.target_ptr,
                self.row,
                used,
                valid.rule_ptr,
                valid.rules,
                self.weight,
                DISCOUNT,
                self.bins,
                self.group,
                scale,
                rates,
                *state,
            )
        )

    def epochs(
        self, used: np.ndarray, epochs: int, seed: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield factor and bias before the first epoch and after each one."""
        state = self._start()
        generator = np.random.default_rng(seed)
        for epoch in range(epochs + 1):
            if epoch:
                order = generator.permutation(len(self.slot))
                self._step(order, used, self.scale, self.rates, state)
            changes = [c[g] for c, g in zip(state[0], self.group.T, strict=True)]
            yield 1.0 + np.sum(changes, axis=0), state[2]

    def scores(self, factor: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Return the score of each candidate: float64[candidates]."""
        valid = self.valid
        value = factor * self.weight
        shape = (valid.query_ptr, self.slot, valid.rule_ptr, valid.rules)
        return np.asarray(_factors.score(*shape, value, DISCOUNT, bias, self.bins))


def finite(weight: np.ndarray) -> np.ndarray:
    """Bound the weights of rules of confidence 1, which are infinite."""
    return np.minimum(weight, 40.0)


def _groups(rules: RuleSet) -> np.ndarray:
    """Return the groups of each rule, numbered by kind of group: int32[all rules, 4]."""
    relation, types = rules.relation, rules.types
    side = rules.flags & SIDE
    kinds = [
        (relation, types),
        (relation, types, rules.body),
        (relation, types, side, rules.head_constant),
    ]
    numbers = [np.arange(len(rules))]
    for columns in kinds:
        code = np.zeros(len(rules), np.int64)
        for column in columns:
            # from 0: there are negative numbers for what is no entity
            column = column.astype(np.int64) - int(column.min(initial=0))
            code = code * (int(column.max(initial=0)) + 1) + column
        numbers.append(np.unique(code, return_inverse=True)[1])
    return np.ascontiguousarray(np.stack(numbers, axis=1).astype(np.int32))


def _degrees(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return keys and bins of the entities that have facts in train (see `Factors`)."""
    head, relation, tail = graph.train.astype(np.int64).T
    entities = len(graph.entities)
    keys = np.concatenate([2 * relation * entities + tail, (2 * relation + 1) * entities + head])
    key, count = np.unique(keys, return_counts=True)
    return key, np.digitize(count, _EDGES).astype(np.uint8)


def _bins(firings: Firings, key: np.ndarray, bin: np.ndarray, entities: int) -> np.ndarray:
    """Return the bin of each candidate: uint8[candidates]."""
    slot = np.repeat(firings.queries.slots, np.diff(firings.query_ptr))
    wanted = slot * entities + firings.candidate
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    return np.where(key[place] == wanted, bin[place], 0).astype(np.uint8)
