"""Score given triples, and classify them as true or false."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.prediction.calibration import Calibration
from kgagg.ranking.targets import target_rows
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import score

if TYPE_CHECKING:
    import pandas as pd

# of a table of scored triples
COLUMNS = ("head", "relation", "tail", "score", "probability", "head_rank", "tail_rank")


@dataclass(frozen=True)
class Scored:
    """Triples with their scores and ranks.

    Attributes
    ----------
    triples : int32[n, 3]
    score : float64[n]
        As the strategy shows it, the higher one of both queries; NaN if no rule predicts the
        triple.
    probability : float64[n]
        Calibrated; NaN without a score or without a calibration.
    rank : float64[n, 2]
        The filtered rank among all candidates for the tail (0) and for the head (1), the mean one
        of ties; NaN if no rule predicts the triple in this direction.
    """

    triples: np.ndarray
    score: np.ndarray
    probability: np.ndarray
    rank: np.ndarray

    def to_pandas(self, graph: Graph) -> pd.DataFrame:
        """Return a table by name, with the columns of `COLUMNS`."""
        import pandas as pd

        entities = np.array(graph.entities.names(), object)
        head, relation, tail = self.triples.T
        columns = (
            entities[head],
            np.array(graph.relations.names(), object)[relation],
            entities[tail],
            self.score,
            self.probability,
            self.rank[:, 1],
            self.rank[:, 0],
        )
        return graph.labelled(pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))))


def score_triples(
    engine: Engine,
    triples: np.ndarray,
    strategy: Strategy,
    *,
    calibration: Calibration | None = None,
    allowed: np.ndarray | None = None,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Scored:
    """Score triples, known or not, and rank each among all candidates for its tail and its head.

    The facts of all splits are filtered. What a triple gets does not depend on the others.

    Parameters
    ----------
    engine : Engine
    triples : int32[n, 3]
    strategy : Strategy
    calibration : Calibration, optional
        Gives the probabilities.
    allowed, threads, memory, quiet
        See `Engine.apply`.
    """
    scores = np.full((len(triples), 2), np.nan)
    rank = np.full((len(triples), 2), np.nan)
    facts = engine.graph.facts
    known = facts.contains(triples)
    chunks = engine.apply(
        Queries.from_triples(triples),
        facts,
        allowed=allowed,
        top_x=0,
        best=strategy.best,
        complete=strategy.complete,
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    for firings in chunks:
        queries, row = firings.queries, target_rows(firings)
        own = score(firings, [strategy])[0]
        found = np.flatnonzero(row >= 0)
        direction = np.repeat(queries.direction, np.diff(queries.target_ptr))
        place = queries.triple[found], direction[found]
        scores[place] = strategy.display(firings, own)[row[found]]
        # other triples to score are rivals, unless they are filtered
        rival = np.ones(len(firings), np.bool_)
        rival[row[found[known[queries.triple[found]]]]] = False
        rank[place] = _mean_ranks(firings, own, rival, row)[found]
    best = np.fmax(scores[:, 0], scores[:, 1])
    probability = np.full(len(triples), np.nan)
    if calibration:
        probability = np.where(np.isnan(best), np.nan, calibration(best))
    return Scored(triples, best, probability, rank)


def _mean_ranks(
    firings: Firings, scores: np.ndarray, rival: np.ndarray, row: np.ndarray
) -> np.ndarray:
    """Rank each target, whose row is given, among the rivals of its query: float64[targets]."""
    rank = np.full(len(row), np.nan)
    pointers = firings.query_ptr.tolist(), firings.queries.target_ptr.tolist()
    for (first, last), (start, stop) in zip(*map(itertools.pairwise, pointers), strict=True):
        at = row[start:stop]
        own = scores[at]
        rivals = np.sort(scores[first:last][rival[first:last]])
        below, up_to = (np.searchsorted(rivals, own, side) for side in ("left", "right"))
        # a target that is a rival is tied with itself
        rank[start:stop] = 1 + len(rivals) - up_to + (up_to - below - rival[at]) / 2
    return rank


# --- classification ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Thresholds:
    """The score from which a triple counts as true, by relation.

    Attributes
    ----------
    default : float
        For relations that are not listed.
    relation : mapping of int to float
        ``-inf``: every triple of the relation is true, also if no rule predicts it.
    """

    default: float
    relation: Mapping[int, float]

    @classmethod
    def fit(cls, true: Scored, false: Scored) -> Thresholds:
        """Choose those with the highest accuracy for each relation, of several the lowest.

        The default has the highest for all relations together.
        """
        value, label, relation = _joined(true, false)
        return cls(
            _threshold(value, label),
            {
                int(one): _threshold(value[relation == one], label[relation == one])
                for one in np.unique(relation)
            },
        )

    def to_json(self, graph: Graph) -> dict[str, float | None]:
        """Return the thresholds by the name of the relation, None for ``-inf``."""
        return {
            graph.relations[one]: float(value) if np.isfinite(value) else None
            for one, value in self.relation.items()
        }

    def accept(self, scored: Scored) -> np.ndarray:
        """Return which triples count as true: bool[n]."""
        bars = [self.relation.get(one, self.default) for one in scored.triples[:, 1].tolist()]
        return _comparable(scored) >= np.array(bars, np.float64)


def probable(scored: Scored) -> np.ndarray:
    """Return which triples have a probability of at least one half: bool[n].

    Raises
    ------
    InputError
        If there are no probabilities, as valid is empty.
    """
    if np.isnan(scored.probability).all() and not np.isnan(scored.score).all():
        raise InputError("without valid there are no probabilities: expected --valid-negatives")
    return np.asarray(scored.probability >= 0.5)


def classification(
    true: Scored, false: Scored, thresholds: Thresholds | None = None
) -> dict[str, float]:
    """Classify triples, and compare with the truth.

    Parameters
    ----------
    true, false : Scored
        At least one of each.
    thresholds : Thresholds, optional
        Without them, a probability of one half decides.

    Returns
    -------
    dict of str to float
        ``accuracy``; ``f1`` of the true triples; ``auc``, the area under the ROC curve: how
        probable it is that a true triple has a higher score than a false one. A triple that no rule
        predicts has a lower score than all others; equal scores count half.

    Raises
    ------
    InputError
        If there are no triples, or nothing that decides.
    """
    if not len(true.triples) or not len(false.triples):
        raise InputError("nothing to classify: expected triples and negatives")
    decide = thresholds.accept if thresholds else probable
    right, wrong = int(decide(true).sum()), int(decide(false).sum())
    correct = right + len(false.triples) - wrong
    value, label, _ = _joined(true, false)
    return {
        "accuracy": correct / len(value),
        "f1": 2 * right / (len(true.triples) + right + wrong),
        "auc": _auc(value, label),
    }


def _comparable(scored: Scored) -> np.ndarray:
    """Return the scores, lower than all others where there is none: float64[n]."""
    return np.where(np.isnan(scored.score), -np.inf, scored.score)


def _joined(true: Scored, false: Scored) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, labels and relations of both: float64[n], bool[n], int32[n]."""
    parts = (true, false)
    label = np.repeat([True, False], [len(part.triples) for part in parts])
    value = np.concatenate([_comparable(part) for part in parts])
    return value, label, np.concatenate([part.triples[:, 1] for part in parts])


def _threshold(value: np.ndarray, label: np.ndarray) -> float:
    """Return the score from which most triples are correct if all from there on are true."""
    bars, group = np.unique(value, return_inverse=True)
    gain = np.bincount(group, np.where(label, 1.0, -1.0), len(bars))
    # what is true from each bar on, and from none
    total = np.append(np.cumsum(gain[::-1])[::-1], 0.0)
    return float(np.append(bars, np.inf)[np.argmax(total)])


def _auc(value: np.ndarray, label: np.ndarray) -> float:
    from scipy.stats import rankdata

    # infinite scores are ranked as others are
    count = int(label.sum())
    above = rankdata(value)[label].sum() - count * (count + 1) / 2
    return float(above / (count * (len(label) - count)))
