r"""The sparse supervised aggregator (Betz, Meilicke and Stuckenschmidt, 2022), SV in the paper.

Every rule has an embedding, of which the softmax says how its confidence is shared out among
dimensions. In each dimension the greatest share among the rules of a candidate counts, and
dimensions are combined by noisy-or. Rules in one dimension are thus aggregated by MAX, rules in
different ones by noisy-or, and learning decides between the two.

Embeddings are trained on facts of train, relation by relation, with Adagrad; valid says after which
epoch they are best for each relation and direction; the fewer facts of a relation it has, the more
counts what is best over all of the direction.

Where kgagg differs from SV (see `docs/fitted.md` for what each brings): the loss is the logarithm
of a smooth rank, not of one with an interpolated gradient; embeddings begin close to equal, which
is MAX, and not far apart, so that rules that training does not reach are aggregated by nearly MAX;
a step is taken for each query, and there is no dropout; there are 5 epochs, not 50, 16 dimensions,
not 40, and the best 50 rules of a candidate, not 100; rules of every kind and of any support count.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.ranking.targets import reciprocal_ranks
from kgagg.rules.confidence import weight_of
from kgagg.strategies import _sparse
from kgagg.strategies.base import Strategy, register
from kgagg.strategies.fitting import Fitting, shrunk
from kgagg.util.arrays import open_arrays, save_arrays
from kgagg.util.checks import checking, expect, expect_arrays, expect_within
from kgagg.util.progress import Progress

DIMENSIONS, DEPTH, EPOCHS = 16, 50, 5
# of one relation, so that memory is bounded
FACTS = 30_000
RATE, WIDTH, SPREAD, TOP_X = 0.1, 0.05, 0.3, 100
# no number of a state is larger: beyond it, sums are no numbers any more
_LARGE = 1e30
_STATE = ("embedding", "squares", "chosen", "best")


@register("sparse")
class Sparse(Strategy):
    """Noisy-or over the maxima of dimensions (see the module).

    Attributes
    ----------
    weight : float32[2, all rules, dimensions]
        By direction: what share of its confidence a rule has in each dimension; or float32[1, ...],
        for both.
    """

    name = "sparse"
    best = DEPTH
    needs = ("train", "valid")
    weight: np.ndarray

    def score(self, firings: Firings) -> np.ndarray:
        """Return the noisy-or over dimensions, as the sum of ``-log(1 - greatest)``."""
        return _scores(firings, self.weight)

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return the probability for which the score stands."""
        return np.asarray(-np.expm1(-scores))

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return the strategy with the weights of one direction."""
        return self.fitted_with(self.report or {}, weight=self.weight[direction : direction + 1])

    def groups(self, rules: np.ndarray) -> list[str]:
        """Return the dimension in which each rule has its greatest share."""
        return [f"dimension {k + 1}" for k in np.argmax(self.weight[0, rules], axis=1).tolist()]

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return what each rule adds in the dimensions where it is greatest."""
        share = _bounded(confidence)[rules[:DEPTH], None] * self.weight[0, rules[:DEPTH]]
        greatest = np.arange(len(share))[:, None] == np.argmax(share, axis=0)
        result = np.zeros(len(rules))
        result[:DEPTH] = np.where(greatest, weight_of(share), 0.0).sum(axis=1)
        return result

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the weights."""
        return {"weight": self.weight}

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from weights."""
        return cls.fitted_with(report, **arrays)

    def check(self, rules: int, relations: int, entities: int) -> None:
        """Check that each rule has its weights."""
        expect_arrays(vars(self), {"weight": (np.float32,)}, 2, rules, DIMENSIONS)
        expect_within("weight", self.weight, 0, 1)

    def fit(self, fitting: Fitting) -> Self:
        """Train, and choose an epoch for each relation and direction."""
        training = _Training(fitting)
        epochs = EPOCHS + 1 - len(training.curve)
        with (
            Progress("train", epochs, "epochs", quiet=fitting.quiet) as progress,
            ThreadPoolExecutor(fitting.workers) as pool,
        ):
            for epoch in range(len(training.curve), EPOCHS + 1):
                training.run(epoch, pool)
                progress.add(1)
        report = {
            "along": "epochs",
            "curve": [[epoch, mrr] for epoch, (_, mrr) in enumerate(training.curve)],
            "loss": [loss for loss, _ in training.curve],
        }
        return self.fitted_with(report, weight=training.chosen)


class _Training:
    """Embeddings while they are trained, and the best of each slot so far.

    Attributes
    ----------
    embedding, squares : float32[all rules, dimensions]
        And the sums of squared gradients for Adagrad.
    chosen : float32[2, all rules, dimensions]
        The weights after the epoch that was best for the slot of each rule.
    best : float64[slots]
        What these are worth on valid (see `shrunk`).
    curve : list of [float, float]
        After each epoch the loss, and the MRR on valid.
    """

    def __init__(self, fitting: Fitting) -> None:
        engine, seed = fitting.engine, fitting.seed
        self.seed, self.state = seed, fitting.state
        self.valid, self.train = fitting.valid(DEPTH), _train_firings(fitting)
        self.relation = engine.rules.relation
        self.confidence = _bounded(self.train.confidence)
        shape = (len(self.relation), DIMENSIONS)
        drawn = np.random.default_rng(seed).standard_normal(shape, np.float32)
        self.embedding = np.float32(SPREAD) * drawn
        self.squares, self.slope = np.full(shape, 1e-6, np.float32), np.zeros(shape, np.float32)
        self.chosen: np.ndarray = np.zeros((2, *shape), np.float32)
        self.best = np.full(2 * len(engine.graph.relations), -1.0)
        self.curve: list[list[float]] = []
        self._of = {
            "data": engine.graph.digest,
            "rules": engine.rules.digest,
            "candidates": len(self.valid),
            "seed": seed,
        }
        self._resume()
        self.weight = _softmax(self.embedding)
        relations = self.train.queries.relation
        self._parts = [np.flatnonzero(relations == r) for r in np.unique(relations)]

    def run(self, epoch: int, pool: ThreadPoolExecutor) -> None:
        """Train for one epoch, and keep what it made better; the 0th only looks at the start."""
        losses = [0.0]
        if epoch:
            # rules belong to one relation, so relations do not meet
            losses = list(pool.map(lambda part: self._learn(part, epoch), self._parts))
        mrr, worth = _valid_mrr(self.valid, self.weight, len(self.best))
        better = worth > self.best
        self.best[better] = worth[better]
        for direction in (0, 1):
            take = better[direction::2][self.relation]
            self.chosen[direction, take] = self.weight[take]
        self.curve.append([float(np.sum(losses)), mrr])
        if self.state is not None:
            arrays = {name: getattr(self, name) for name in _STATE}
            meta = {"of": self._of, "curve": self.curve}
            save_arrays(self.state, "training state", meta, arrays)

    def _resume(self) -> None:
        """Go on from the state of an earlier run, if it is of the same data, rules and seed."""
        if self.state is None or not self.state.exists():
            return
        meta, saved = open_arrays(self.state, "training state")
        with checking(self.state):
            if meta["of"] != self._of:
                return
            for name in _STATE:
                own = getattr(self, name)
                expect_arrays(saved, {name: (own.dtype.type,)}, *own.shape)
                expect_within(name, saved[name], -_LARGE, _LARGE)
            expect(0 < len(meta["curve"]) <= EPOCHS + 1, "curve does not fit")
            self.curve = [[float(loss), float(mrr)] for loss, mrr in meta["curve"]]
        vars(self).update({name: saved[name] for name in _STATE})

    def _learn(self, part: np.ndarray, epoch: int) -> float:
        """Train on the queries of one relation; return the loss."""
        train, queries = self.train, self.train.queries
        generator = np.random.default_rng([self.seed, epoch, int(part[0])])
        return float(
            _sparse.train(
                generator.permutation(part),
                train.query_ptr,
                train.candidate,
                queries.target_ptr,
                queries.target,
                train.rule_ptr,
                train.rules,
                self.confidence,
                DEPTH,
                WIDTH,
                RATE,
                self.embedding,
                self.squares,
                self.weight,
                self.slope,
            )
        )


def _bounded(confidence: np.ndarray) -> np.ndarray:
    """Keep confidences away from 1, where the logarithm has no bound: float32[n]."""
    return np.minimum(confidence, 1 - 1e-6).astype(np.float32)


def _softmax(embedding: np.ndarray) -> np.ndarray:
    weight: np.ndarray = embedding - embedding.max(axis=1, keepdims=True)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight


def _scores(firings: Firings, weight: np.ndarray) -> np.ndarray:
    return np.asarray(
        _sparse.score(
            firings.query_ptr,
            firings.queries.direction * (len(weight) - 1),
            firings.rule_ptr,
            firings.rules,
            _bounded(firings.confidence),
            weight,
            DEPTH,
        )
    )


def _valid_mrr(valid: Firings, weight: np.ndarray, count: int) -> tuple[float, np.ndarray]:
    """Return the MRR on valid, and what the weights are worth by slot (see `shrunk`)."""
    value = reciprocal_ranks(valid, _scores(valid, weight[None])[None])[0]
    slot = np.repeat(valid.queries.slots, np.diff(valid.queries.target_ptr))
    number = np.bincount(slot, minlength=count)
    return float(value.mean()), shrunk(np.bincount(slot, value, count), number)


def _train_firings(fitting: Fitting) -> Firings:
    """Apply the rules to a sample of facts of each relation, which stay in the graph."""
    engine, graph = fitting.engine, fitting.engine.graph
    order = np.random.default_rng(fitting.seed).permutation(len(graph.train))
    relation = graph.train[order, 1]
    by_relation = np.argsort(relation, kind="stable")
    starts = np.searchsorted(relation[by_relation], np.arange(len(graph.relations)))
    number = np.arange(len(order)) - starts[relation[by_relation]]
    sample = graph.train[np.sort(order[by_relation[number < FACTS]])]
    chunks = engine.apply(
        Queries.from_triples(sample),
        graph.adjacency,
        top_x=TOP_X,
        best=DEPTH,
        threads=fitting.threads,
        memory=fitting.memory,
        quiet=fitting.quiet,
    )
    return Firings.concatenate(list(chunks))
