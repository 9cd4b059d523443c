"""What a strategy is: from firings to scores, fitted or not, in memory or in a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from kgagg.engine.firings import Firings, Names
from kgagg.errors import NotFittedError
from kgagg.strategies.fitting import Fitting
from kgagg.util.arrays import save_arrays

# the values from which noisy-or-top-h* chooses by default, the paper's: 1 means MAX+; 0 means all
# rules, which the paper adds for AMIE
TOP_H = (1, 4, 5, 6, 7, 8, 9, 10)
# of its file
KIND = "strategy"


class Strategy(ABC):
    """A way to turn the rules that predict a candidate into one score.

    A strategy that needs a fit (see `needs`) is made without it; `fit` returns one that can
    score. `save` writes that to a file, `kgagg.strategies.registry.open_strategy` reads it.

    Attributes
    ----------
    name : str
    best : int
        How many of the best rules of a candidate it reads; 0 means all of them.
    complete : bool
        Whether it reads more than the best rule: more rules, or what sums up all of them.
    needs : tuple of str
        The splits that `fit` learns from; empty for a strategy that is not fitted.
    report : mapping or None
        What the fit found, for people, JSON-compatible; None before it. ``curve``, if there
        is one, has the MRR on valid at points ``along`` something: ``epochs``, or a
        ``threshold``.
    """

    name: str
    best: int = 1
    complete: bool = True
    needs: ClassVar[tuple[str, ...]] = ()
    report: Mapping[str, Any] | None = None

    @classmethod
    def named(cls, name: str, top_h: Sequence[int] = TOP_H) -> Strategy:
        """Make the strategy for a name.

        Parameters
        ----------
        name : str
        top_h : sequence of int
            For strategies that choose h (see `TOP_H`).
        """
        return cls()

    # --- scoring -------------------------------------------------------------------------------

    @abstractmethod
    def score(self, firings: Firings) -> np.ndarray:
        """Return the score of each candidate, float64[candidates]; higher is better."""

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return the scores to show people: a confidence where the score represents one."""
        return scores

    @classmethod
    def score_many(cls, strategies: Sequence[Any], firings: Firings) -> np.ndarray:
        """Score by several strategies of this class: float64[strategies, candidates]."""
        return np.stack([one.score(firings) for one in strategies])

    # --- explaining ----------------------------------------------------------------------------

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return what each rule of one candidate adds to the score, float64[n].

        By default the best rule decides.

        Parameters
        ----------
        rules : int32[n]
            All rules of the candidate, ascending by rank.
        confidence : float64[all rules]
        """
        return np.where(np.arange(len(rules)) == 0, confidence[rules], 0.0)

    def explained(self, firings: Firings, row: int) -> tuple[np.ndarray, dict[str, float]]:
        """Return what rules and other features add to the score of one candidate.

        By default there are no other features (see `contributions`).

        Parameters
        ----------
        firings : Firings
            With all rules.
        row : int
            The candidate.

        Returns
        -------
        rules : float64[n]
            By rule, in the order of `firings`.
        others : dict of str to float
            By feature. Where there are any, all parts sum to the score.
        """
        rules = firings.rules[slice(*firings.rule_ptr[row : row + 2])]
        return self.contributions(rules, firings.confidence), {}

    def groups(self, rules: np.ndarray) -> list[str]:
        """Return the name of the group to which each rule belongs, "" for none.

        Parameters
        ----------
        rules : int32[n]
            All rules of one candidate, ascending by rank.
        """
        return [""] * len(rules)

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return what scores the queries of a relation and direction, if one strategy does."""
        return self

    # --- fitting -------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """Whether it can score: a strategy that needs no fit always can."""
        return not self.needs or self.report is not None

    def fit(self, fitting: Fitting) -> Strategy:
        """Return the strategy, fitted; one that needs no fit is returned as it is."""
        if self.needs:
            raise NotImplementedError(f"{self.name} needs {self.needs}, but has no fit")
        return self

    @classmethod
    def fitted_with(cls, report: Mapping[str, Any], **parts: Any) -> Self:
        """Make a fitted strategy, with what was learned as attributes."""
        one = cls()
        vars(one).update(parts, report=report)
        return one

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return what was fitted, as `restore` takes it."""
        raise NotImplementedError(self.name)

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from what `arrays` gave."""
        raise NotImplementedError(cls.__name__)

    def check(self, rules: int, relations: int, entities: int) -> None:  # noqa: B027
        """Raise ValueError if what a file gave does not fit so many rules and names.

        A strategy whose kernels index what was fitted by the numbers of rules, relations or
        entities checks it here (see `kgagg.util.checks`).
        """

    def renumbered(self, relations: np.ndarray, entities: np.ndarray) -> Strategy:
        """Return the strategy for other numbers of the same names.

        Parameters
        ----------
        relations, entities : int64[n]
            For each new number the old one, -1 for a name that is new.
        """
        return self

    def save(self, path: str | os.PathLike[str], names: Names) -> None:
        """Write a fitted strategy.

        Parameters
        ----------
        path : path
        names : Names
            What it was fitted for: the file has names of entities and relations, so that it can be
            used where they have other numbers.

        Raises
        ------
        NotFittedError
            If it is not fitted.
        """
        if self.report is None:
            raise NotFittedError(self.name)
        arrays = dict(self.arrays())
        for kind, vocabulary in (("entities", names.entities), ("relations", names.relations)):
            arrays |= {f"{kind}.blob": vocabulary.blob, f"{kind}.offsets": vocabulary.offsets}
        # that of its class: one with other data may have a name of its own
        meta = {"strategy": type(self).name, "rules": names.rules, "report": dict(self.report)}
        save_arrays(Path(path), KIND, meta, arrays)


_Class = TypeVar("_Class", bound=type[Strategy])
REGISTERED: dict[str, type[Strategy]] = {}


def register(name: str) -> Callable[[_Class], _Class]:
    """Register a class of strategies under `name`.

    A name that ends in ``-h`` stands for all names with a positive number instead of h:
    ``noisy-or-top-h`` is used for ``noisy-or-top-5``.
    """

    def decorate(kind: _Class) -> _Class:
        REGISTERED[name] = kind
        return kind

    return decorate
