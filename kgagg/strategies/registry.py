"""The one registry of strategies: by name, or from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kgagg.engine.firings import Names
from kgagg.errors import InputError, nearest
from kgagg.graph.vocabulary import Vocabulary
from kgagg.strategies import (
    contrast,
    factors,
    learned,
    maximum,
    noisy_or,
    safran,
    sparse,
    tuned,
)
from kgagg.strategies.base import KIND, REGISTERED, TOP_H, Strategy
from kgagg.strategies.fitting import Fitting
from kgagg.util.arrays import open_arrays
from kgagg.util.checks import checking

# importing a module registers its strategies; a new one is one module more in this list, which is
# in the order of `all`
_MODULES = (maximum, noisy_or, tuned, contrast, safran, sparse, factors, learned)
# the rows of the paper's table that need no long fit
PAPER = ("max", "max+", "noisy-or", "noisy-or-top-5", "noisy-or-top-h*")
# the strategy that is used if none is named
DEFAULT = "noisy-or-top-5"
ALL = "all"
ENDING = ".kgagg"


def names() -> list[str]:
    """Return the names under which strategies are registered, in the order of ``all``."""
    order = {module.__name__: number for number, module in enumerate(_MODULES)}
    # what others register comes last
    return sorted(REGISTERED, key=lambda name: order.get(REGISTERED[name].__module__, len(order)))


def strategy_class(name: str) -> type[Strategy]:
    """Return the class of the strategy with this name.

    Raises
    ------
    InputError
        If there is none, with the nearest names.
    """
    prefix, _, number = name.rpartition("-")
    if number.isdecimal() and int(number) > 0 and f"{prefix}-h" in REGISTERED:
        return REGISTERED[f"{prefix}-h"]
    if name in REGISTERED and not name.endswith("-h"):
        return REGISTERED[name]
    known = [ALL, *names()]
    raise InputError(
        f"unknown strategy {name!r}, expected one of {', '.join(known)}{nearest(name, known)}"
    )


def strategy(name: str, top_h: Sequence[int] = TOP_H) -> Strategy:
    """Return the strategy with this name, not fitted.

    Parameters
    ----------
    name : str
    top_h : sequence of int
        What ``noisy-or-top-h*`` chooses from: 1 means MAX+, 0 all rules.

    Raises
    ------
    InputError
        If there is no such strategy.
    """
    return strategy_class(name).named(name, top_h)


def strategies(
    wanted: Sequence[str | Strategy], known: Names, top_h: Sequence[int] = TOP_H
) -> list[Strategy]:
    """Return strategies by name, each once; those that need a fit are not fitted yet.

    Parameters
    ----------
    wanted : sequence of str or Strategy
        Names; ``all`` for every strategy there is; files that `kgagg fit` wrote (``.kgagg``); or
        strategies, which are taken as they are.
    known : Names
        The rules and names with which files are used.
    top_h : sequence of int
        See `strategy`.

    Raises
    ------
    InputError
        If there is no such strategy, or a file was fitted with other rules.
    """
    found: dict[str, Strategy] = {}
    for one in wanted:
        for each in _opened(one, known, top_h):
            found.setdefault(each.name, each)
    return list(found.values())


def _opened(one: str | Strategy, known: Names, top_h: Sequence[int]) -> Iterator[Strategy]:
    if isinstance(one, Strategy):
        yield one
    elif one == ALL:
        for name in names():
            if name.endswith("-h"):
                heights = sorted(h for h in set(top_h) if h > 1)
                yield from (strategy(f"{name[:-1]}{h}") for h in heights)
            else:
                yield strategy(name, top_h)
    elif one.endswith(ENDING):
        yield open_strategy(one, known)
    else:
        yield strategy(one, top_h)


def open_strategy(path: str | os.PathLike[str], known: Names) -> Strategy:
    """Read what `Strategy.save` wrote, to be used with these rules and names.

    Relations and entities that are new since the fit are scored by what was learned over all.

    Raises
    ------
    InputError
        If it is not such a file, is damaged, or was fitted with other rules or on another graph.
    """
    meta, arrays = open_arrays(Path(path), KIND)
    with checking(path):
        if meta["rules"] != known.rules:
            raise InputError(f"{path}: {meta['strategy']} was fitted with other rules than these")
        before = {kind: Vocabulary.checked(arrays, kind) for kind in ("relations", "entities")}
        found = strategy_class(meta["strategy"]).restore(meta["report"], arrays)
        found.check(known.rule_count, len(before["relations"]), len(before["entities"]))
    relations, entities = (
        getattr(known, kind).numbers_in(before[kind]).astype(np.int64) for kind in before
    )
    shared, fitted = np.count_nonzero(entities >= 0), len(before["entities"])
    # a graph changes over time, but not as much
    if 2 * shared < fitted:
        raise InputError(
            f"{path}: {found.name} was fitted on another graph: "
            f"{shared:,} of its {fitted:,} entities are in this one"
        )
    return found.renumbered(relations, entities)


def fit_all(wanted: Sequence[Strategy], fitting: Fitting) -> list[Strategy]:
    """Fit the strategies that need it; the others are returned as they are.

    Raises
    ------
    InputError
        If one needs the valid split, which is empty.
    """
    for one in wanted:
        if not one.fitted and not len(fitting.triples):
            raise InputError(f"{one.name} is fitted on the valid split, which is empty")
    return [one if one.fitted else one.fit(fitting) for one in wanted]
