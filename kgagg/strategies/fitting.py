"""What strategies are fitted with: the rules applied to the valid split, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.graph.known import known_before
from kgagg.ranking.targets import TieOrder
from kgagg.util.machine import processors

# chosen by cross-validation within valid
PRIOR = 30.0


@dataclass(frozen=True)
class Fitting:
    """What a strategy is fitted with.

    Attributes
    ----------
    engine : Engine
    top_x, memory, quiet
        See `Engine.apply`.
    threads : int, optional
        All processors by default; the fit does not depend on it.
    seed : int
        The fit is the same for the same seed.
    order : TieOrder, optional
        Breaks ties among candidates where strategies are compared; by default nothing does.
    state : Path, optional
        Where a strategy that takes long keeps how far it has come: if the file is there and of the
        same data, rules and seed, it goes on from there, to the same end.
    """

    engine: Engine
    top_x: int = 200
    seed: int = 0
    threads: int | None = None
    memory: int | None = None
    quiet: bool = True
    order: TieOrder | None = None
    state: Path | None = None

    @property
    def workers(self) -> int:
        """How many threads work."""
        return self.threads or processors()

    @property
    def triples(self) -> np.ndarray:
        """The triples of valid, int32[n, 3]."""
        return self.engine.graph.valid

    def valid_chunks(self, best: int) -> Iterator[Firings]:
        """Yield the firings of valid with the best rules of each candidate; 0 for all rules.

        Facts of train are filtered; nothing of test is used.
        """
        return self.engine.apply(
            Queries.from_triples(self.triples),
            known_before(self.engine.graph, "valid"),
            top_x=self.top_x,
            best=best,
            threads=self.threads,
            memory=self.memory,
            quiet=self.quiet,
        )

    def valid(self, best: int) -> Firings:
        """Return the firings of valid in one (see `valid_chunks`)."""
        return Firings.concatenate(list(self.valid_chunks(best)))


def shrunk(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return what choices are worth: sums over targets, and as if there were `PRIOR` targets more.

    Those have the mean of all targets of the direction, so that slots with few targets choose as
    the others do, and slots without any take what is best for all. Rounded, so that sums that
    differ in the last bits only are equal.

    Parameters
    ----------
    total : float64[..., slots]
        Sums by slot (twice the relation, plus the direction) of a value of each target.
    number : int64[slots]
        How many targets there are.
    """
    result = total.copy()
    for direction in (0, 1):
        every = total[..., direction::2].sum(axis=-1, keepdims=True)
        result[..., direction::2] += PRIOR * every / max(1, number[direction::2].sum())
    return result.round(9)


def by_slot(values: np.ndarray, relations: np.ndarray, default: np.ndarray) -> np.ndarray:
    """Return values of slots for other numbers of relations.

    Parameters
    ----------
    values : [2 * old relations, ...]
    relations : int64[new relations]
        See `Strategy.renumbered`.
    default : [2, ...]
        By direction, for relations that are new.

    Returns
    -------
    [2 * new relations, ...]
    """
    result = np.tile(default, (len(relations), *[1] * (default.ndim - 1)))
    seen = np.flatnonzero(relations >= 0)
    for direction in (0, 1):
        result[2 * seen + direction] = values[2 * relations[seen] + direction]
    return result


def inverse(before: np.ndarray, count: int) -> np.ndarray:
    """Return the new number of each of `count` old ones, -1 for none.

    Parameters
    ----------
    before : int64[n]
        The old number of each new one, -1 for none (see `Strategy.renumbered`).
    count : int
    """
    result = np.full(count, -1)
    seen = np.flatnonzero(before >= 0)
    result[before[seen]] = seen
    return result
