r"""The sparse supervised aggregator (Betz, Meilicke and Stuckenschmidt, 2022), SV in the paper.

Every rule has an embedding, of which the softmax says how its confidence is shared out among
dimensions. In each dimension the greatest share among the rules of a candidate counts, and
dimensions are combined by noisy-or. Rules in one dimension are thus aggregated by MAX, rules in
different ones by noisy-or, and learning decides between the two.

Embeddings are trained on facts of train, relation by relation, with Adagrad; valid says after which
epoch they are best for each relation and direction; the fewer facts of a relation it has, the more
counts what is best over all of the direction.

Where kgagg differs from SV: the loss is the logarithm of a smooth rank, not of one with an
interpolated gradient, there is no dropout, and of each relation a sample of facts is trained on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np

from kgagg.aggregation import _sparse
from kgagg.aggregation.fitting import Fitted, fittable, reciprocal_ranks, shrunk, slots
from kgagg.aggregation.registry import Strategy
from kgagg.arrays import open_arrays, save_arrays
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Firings, Queries
from kgagg.progress import Progress

DIMENSIONS, DEPTH, EPOCHS, FACTS = 16, 50, 10, 1000
RATE, WIDTH, TOP_X = 0.1, 0.1, 100
_STATE = ("embedding", "squares", "chosen", "best")


@fittable("sparse")
class Sparse(Fitted):
    """Noisy-or over the maxima of dimensions (see the module).

    Parameters
    ----------
    weight : float32[2, all rules, dimensions]
        By direction: what share of its confidence a rule has in each dimension; or float32[1, ...],
        for both.
    report : dict
    """

    name = "sparse"
    best = keeps = DEPTH

    def __init__(self, weight: np.ndarray, report: Mapping[str, Any]) -> None:
        self.weight, self.report = weight, report

    def score(self, firings: Firings) -> np.ndarray:
        """Return the noisy-or over dimensions, as the sum of ``-log(1 - greatest)``."""
        return _scores(firings, self.weight)

    def value(self, firings: Firings, score: np.ndarray) -> np.ndarray:
        """Return the probability for which the score stands."""
        return np.asarray(-np.expm1(-score))

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return the strategy with the weights of one direction."""
        return Sparse(self.weight[direction : direction + 1], self.report)

    def groups(self, rules: np.ndarray) -> list[str]:
        """Return the dimension in which each rule has its greatest share."""
        return [f"dimension {k + 1}" for k in np.argmax(self.weight[0, rules], axis=1).tolist()]

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return what each rule adds in the dimensions where it is greatest."""
        share = _bounded(confidence)[rules[:DEPTH], None] * self.weight[0, rules[:DEPTH]]
        greatest = np.arange(len(share))[:, None] == np.argmax(share, axis=0)
        result = np.zeros(len(rules))
        result[:DEPTH] = np.where(greatest, -np.log1p(-share), 0.0).sum(axis=1)
        return result

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the weights."""
        return {"weight": self.weight}

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from weights."""
        return cls(arrays["weight"], report)

    @classmethod
    def fit(
        cls,
        engine: Engine,
        valid: Firings,
        *,
        seed: int,
        threads: int | None,
        quiet: bool,
        state: Path | None = None,
    ) -> Self:
        """Train, and choose an epoch for each relation and direction."""
        threads = threads or len(os.sched_getaffinity(0))
        relation = engine.rules.relation
        train = _train_firings(engine, seed, threads, quiet)
        confidence = _bounded(train.confidence)
        embedding = np.random.default_rng(seed).normal(size=(len(relation), DIMENSIONS))
        squares, slope = np.full(embedding.shape, 1e-6), np.zeros(embedding.shape)
        chosen: np.ndarray = np.zeros((2, *embedding.shape), np.float32)
        count = 2 * len(engine.graph.relations)
        best = np.full(count, -1.0)
        curve: list[list[float]] = []
        of = {
            "data": engine.graph.digest,
            "rules": engine.rules.digest,
            "candidates": len(valid),
            "seed": seed,
        }
        if state is not None and state.exists():
            meta, saved = open_arrays(state, "training state")
            if meta["of"] == of:
                curve = meta["curve"]
                embedding, squares, chosen, best = (saved[name] for name in _STATE)
        weight = _softmax(embedding)
        queries = train.queries
        bounds = [np.flatnonzero(queries.relation == r) for r in np.unique(queries.relation)]

        def learn(part: np.ndarray, epoch: int) -> float:
            generator = np.random.default_rng([seed, epoch, int(part[0])])
            return float(
                _sparse.train(
                    generator.permutation(part),
                    train.query_ptr,
                    train.candidate,
                    queries.target_ptr,
                    queries.target,
                    train.rule_ptr,
                    train.rules,
                    confidence,
                    DEPTH,
                    WIDTH,
                    RATE,
                    embedding,
                    squares,
                    weight,
                    slope,
                )
            )

        with (
            Progress("train", EPOCHS - len(curve) + 1, "epochs", quiet=quiet) as progress,
            ThreadPoolExecutor(threads) as pool,
        ):
            for epoch in range(len(curve), EPOCHS + 1):
                # before the first epoch the embeddings are random, which is a choice, too
                losses = [0.0]
                if epoch:
                    # rules belong to one relation, so relations do not meet
                    losses = list(pool.map(lambda part, e=epoch: learn(part, e), bounds))
                mrr, worth = _valid_mrr(valid, weight, count)
                better = worth > best
                best[better] = worth[better]
                for direction in (0, 1):
                    take = better[direction::2][relation]
                    chosen[direction, take] = weight[take]
                curve.append([float(np.sum(losses)), mrr])
                if state is not None:
                    now = zip(_STATE, (embedding, squares, chosen, best), strict=True)
                    save_arrays(state, "training state", {"of": of, "curve": curve}, dict(now))
                progress.add(1)
        report = {
            "along": "epochs",
            "curve": [[epoch, mrr] for epoch, (_, mrr) in enumerate(curve)],
            "loss": [loss for loss, _ in curve],
        }
        return cls(chosen, report)


def _bounded(confidence: np.ndarray) -> np.ndarray:
    """Keep confidences away from 1, where the logarithm has no bound."""
    return np.minimum(confidence, 1 - 1e-6)


def _softmax(embedding: np.ndarray) -> np.ndarray:
    weight = np.exp(embedding - embedding.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


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
    value = reciprocal_ranks(valid, _scores(valid, weight.astype(np.float32)[None])[None])[0]
    slot = np.repeat(slots(valid.queries), np.diff(valid.queries.target_ptr))
    number = np.bincount(slot, minlength=count)
    return float(value.mean()), shrunk(np.bincount(slot, value, count), number)


def _train_firings(engine: Engine, seed: int, threads: int, quiet: bool) -> Firings:
    """Apply the rules to a sample of facts of each relation, which stay in the graph."""
    graph = engine.graph
    order = np.random.default_rng(seed).permutation(len(graph.train))
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
        threads=threads,
        quiet=quiet,
    )
    return Firings.concatenate(list(chunks))
