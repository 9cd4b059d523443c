"""From the score of a prediction to a probability, by isotonic regression on the valid split.

What is calibrated are the answers to the queries of a split: an answer is correct if it is a
fact of that split; facts of other splits are filtered. So the probability is that of a new answer
to a query which has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score


@dataclass(frozen=True)
class Answered:
    """How often answers with a score are correct.

    Attributes
    ----------
    score : float64[n]
        Distinct and ascending.
    answers : int64[n]
        How many answers have this score.
    right : int64[n]
        How many of these are facts of the split.
    """

    score: np.ndarray
    answers: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, right: np.ndarray) -> Answered:
        """Count single answers, float64[m] and bool[m]."""
        return cls._counted(scores, np.ones(len(scores), np.int64), right)

    @classmethod
    def joined(cls, parts: Sequence[Answered]) -> Answered:
        """Count the answers of all parts; at least one part."""
        columns = ([getattr(part, name) for part in parts] for name in cls.__annotations__)
        return cls._counted(*map(np.concatenate, columns))

    @classmethod
    def _counted(cls, scores: np.ndarray, answers: np.ndarray, right: np.ndarray) -> Answered:
        distinct, row = np.unique(scores, return_inverse=True)
        # the sums are whole numbers far below 2**53
        sums = (np.bincount(row, counts, len(distinct)) for counts in (answers, right))
        return cls(distinct, *(each.astype(np.int64) for each in sums))


def answered(
    engine: Engine,
    strategy: Strategy,
    split: str,
    *,
    top_x: int = 200,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Answered:
    """Answer the queries of a split, and count how often answers with a score are correct.

    Parameters
    ----------
    engine : Engine
    strategy : Strategy
    split : str
        ``"valid"`` or ``"test"``.
    top_x, threads, memory, quiet
        See `Engine.apply`.
    """
    chunks = engine.apply(
        Queries.from_triples(engine.graph.split(split)),
        engine.graph.facts,
        top_x=top_x,
        best=strategy.best,
        complete=strategy.complete,
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    held = [Answered.of(np.empty(0), np.empty(0, np.bool_))]
    for part in _counted(chunks, strategy):
        held.append(part)
        # equal scores of many chunks take the room of one
        if len(held) == _HELD:
            held = [Answered.joined(held)]
    return Answered.joined(held)


# chunks of answers that are joined at once
_HELD = 32


def _counted(chunks: Iterator[Firings], strategy: Strategy) -> Iterator[Answered]:
    for firings in chunks:
        queries = firings.queries
        scores = strategy.display(firings, score(firings, [strategy])[0])
        query = np.repeat(np.arange(len(queries)), np.diff(firings.query_ptr))
        owner = np.repeat(np.arange(len(queries)), np.diff(queries.target_ptr))
        width = np.int64(1) << 32
        right = np.isin(query * width + firings.candidate, owner * width + queries.target)
        yield Answered.of(scores, right)


@dataclass(frozen=True)
class Calibration:
    """A probability for each score, which grows with it.

    Attributes
    ----------
    score : float64[n]
        Ascending.
    probability : float64[n]
        Ascending. It is interpolated between two scores, and constant beyond the last ones.
    """

    score: np.ndarray
    probability: np.ndarray

    @classmethod
    def fit(cls, counts: Answered) -> Calibration:
        """Fit by isotonic regression: least squares among all functions that never fall.

        Raises
        ------
        InputError
            If there are no answers.
        """
        from scipy.optimize import isotonic_regression

        if not len(counts.score):
            raise InputError("no answers to calibrate with: the rules answer no query of valid")
        fitted = isotonic_regression(counts.right / counts.answers, weights=counts.answers)
        # the ends of each level say everything
        cuts = fitted.blocks
        ends = np.unique(np.concatenate([cuts[:-1], cuts[1:] - 1]))
        return cls(counts.score[ends], np.clip(fitted.x[ends], 0.0, 1.0))

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability for each score, float64[m]."""
        return np.interp(scores, self.score, self.probability)


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities of answers against the observed share of correct ones.

    Attributes
    ----------
    split : str
        Whose queries were answered.
    predicted, observed : float64[bins]
        The mean predicted probability of the answers of a bin, and the share that is correct.
    answers : int64[bins]
        How many there are; only bins that have some are listed.
    error : float
        The expected calibration error: the mean distance of the two, weighted by answers.
    brier : float
        The mean squared distance of the probability of an answer from the truth, 0 or 1.
    """

    split: str
    predicted: np.ndarray
    observed: np.ndarray
    answers: np.ndarray
    error: float
    brier: float

    @classmethod
    def of(
        cls, split: str, probability: np.ndarray, counts: Answered, bins: int = 10
    ) -> Reliability:
        """Compare probabilities, one for each of `counts.score`, in bins of equal width."""
        answers, right = counts.answers, counts.right
        place = np.minimum((probability * bins).astype(np.intp), bins - 1)
        number, hits, predicted = (
            np.bincount(place, weights, bins) for weights in (answers, right, answers * probability)
        )
        used = number > 0
        number, hits, predicted = number[used], hits[used], predicted[used]
        total = max(1.0, number.sum())
        squares = right * (1 - probability) ** 2 + (answers - right) * probability**2
        return cls(
            split,
            predicted / number,
            hits / number,
            number.astype(np.int64),
            float(np.abs(predicted - hits).sum() / total),
            float(squares.sum() / total),
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON-compatible values."""
        return {
            "split": self.split,
            "expected_calibration_error": self.error,
            "brier": self.brier,
            "bins": [
                {"predicted": predicted, "observed": observed, "answers": answers}
                for predicted, observed, answers in zip(
                    self.predicted.tolist(),
                    self.observed.tolist(),
                    self.answers.tolist(),
                    strict=True,
                )
            ],
        }
