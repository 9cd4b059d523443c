"""Strategies with parameters that are fitted, and how they are kept in files.

A fitted strategy is like any other once it is there: from firings to scores. Fitting reads train
and valid; what it found is saved, so that it is fitted once and applied wherever the rules are.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from kgagg.aggregation.ranking import known_before, rank_targets
from kgagg.aggregation.registry import Strategy
from kgagg.arrays import open_arrays, save_arrays
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Firings, Queries
from kgagg.errors import InputError, nearest
from kgagg.rules.ruleset import RuleSet

# chosen by cross-validation within valid
PRIOR = 30.0


class Fitted(Strategy):
    """A strategy that is fitted on train and valid.

    Attributes
    ----------
    keeps : int
        How many of the best rules of a candidate fitting reads; 0 means all of them.
    report : dict
        What to tell people about the fit, as what JSON can hold. ``curve`` has the MRR on valid
        at points ``along`` something: ``epochs``, or a ``threshold``.
    """

    keeps: ClassVar[int] = 0
    report: Mapping[str, Any]

    @classmethod
    @abstractmethod
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
        """Fit to the firings of the valid split; see `fit` for the other parameters."""

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return what was fitted, as `restore` takes it."""

    @classmethod
    @abstractmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from what was saved."""

    def save(self, path: str | os.PathLike[str], rules: RuleSet) -> None:
        """Write what was fitted, for these rules."""
        meta = {"strategy": self.name, "rules": rules.digest, "report": dict(self.report)}
        save_arrays(Path(path), "fitted strategy", meta, self.arrays())


_Class = TypeVar("_Class", bound=type[Fitted])
_classes: dict[str, type[Fitted]] = {}


def fittable(name: str) -> Callable[[_Class], _Class]:
    """Register a class of fitted strategies under `name`."""

    def decorate(kind: _Class) -> _Class:
        _classes[name] = kind
        return kind

    return decorate


def fitted_names() -> list[str]:
    """Return the names of the strategies that can be fitted."""
    return sorted(_classes)


def fitted_class(name: str) -> type[Fitted]:
    """Return the class of a strategy that is fitted.

    Raises
    ------
    InputError
        If there is no such strategy.
    """
    if name not in _classes:
        known = fitted_names()
        expected = f"expected one of {', '.join(known)}{nearest(name, known)}"
        raise InputError(f"{name}: no strategy that is fitted, {expected}")
    return _classes[name]


def fit(
    name: str,
    engine: Engine,
    *,
    top_x: int = 200,
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
    state: Path | None = None,
) -> Fitted:
    """Apply the rules to the valid split, and fit a strategy to that.

    Parameters
    ----------
    name : str
        One of `fitted_names`.
    engine : Engine
    top_x, threads, memory, quiet
        See `Engine.apply`.
    seed : int
        The result is the same for the same seed, whatever the number of threads.
    state : Path, optional
        Where a strategy that takes long keeps how far it has come: if the file is there and of the
        same data, rules and seed, it goes on from there, to the same end.

    Raises
    ------
    InputError
        If there is no such strategy, or the valid split is empty.
    """
    kind = fitted_class(name)
    triples = engine.graph.split("valid")
    if not len(triples):
        raise InputError(f"{name} is fitted on the valid split, which is empty")
    chunks = engine.apply(
        Queries.from_triples(triples),
        known_before(engine.graph, "valid"),
        top_x=top_x,
        best=kind.keeps,
        threads=threads,
        memory=memory,
        quiet=quiet,
    )
    valid = Firings.concatenate(list(chunks))
    return kind.fit(engine, valid, seed=seed, threads=threads, quiet=quiet, state=state)


def load(path: str | os.PathLike[str], rules: str) -> Fitted:
    """Read what `Fitted.save` wrote, to be used with the rules of this digest.

    Raises
    ------
    InputError
        If it is no such file, or was fitted for other rules.
    """
    meta, arrays = open_arrays(Path(path), "fitted strategy")
    if meta["rules"] != rules:
        raise InputError(f"{path}: {meta['strategy']} was fitted for other rules than these")
    return _classes[meta["strategy"]].restore(meta["report"], arrays)


def slots(queries: Queries) -> np.ndarray:
    """Return ``2 * relation + direction`` of each query: int64[queries]."""
    return 2 * queries.relation.astype(np.int64) + queries.direction


def shrunk(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return what choices are worth: sums over targets, and as if there were `PRIOR` targets more.

    Those have the mean of all targets of the direction, so that slots with few targets choose as
    the others do, and slots without any take what is best for all. Rounded, so that sums that
    differ in the last bits only are equal.

    Parameters
    ----------
    total : float64[..., slots]
        Sums by slot of a value of each target.
    number : int64[slots]
        How many targets there are.
    """
    result = total.copy()
    for direction in (0, 1):
        every = total[..., direction::2].sum(axis=-1, keepdims=True)
        result[..., direction::2] += PRIOR * every / max(1, number[direction::2].sum())
    return result.round(9)


def reciprocal_ranks(firings: Firings, scores: np.ndarray) -> np.ndarray:
    """Return the expected reciprocal rank of each target: float64[strategies, targets].

    Parameters
    ----------
    firings : Firings
    scores : float64[strategies, candidates]
    """
    low, high = (rank.astype(np.int64) for rank in rank_targets(firings, scores))
    harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, high.max(initial=0) + 1)))
    mean = (harmonic[high] - harmonic[np.maximum(low - 1, 0)]) / (high - low + 1)
    return np.where(low > 0, mean, 0.0)
