"""The one registry: strategies by name, all of them, new ones, those that are not fitted."""

from __future__ import annotations

import numpy as np
import pytest
from fired import make_firings

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError, NotFittedError
from kgagg.evaluation.run import evaluate
from kgagg.strategies import base, registry
from kgagg.strategies.base import Strategy, register
from kgagg.strategies.registry import names, strategies, strategy
from kgagg.strategies.scoring import rank_split, score

NEED_A_FIT = ["factors", "learned", "noisy-or-top-h*", "safran", "sparse", "tuned"]


@pytest.mark.parametrize("name", ["noisy", "noisy-or-top-0", "noisy-or-top-h", "max-3", ""])
def test_an_unknown_strategy_is_told(name: str) -> None:
    with pytest.raises(InputError, match="unknown strategy") as error:
        strategy(name)
    assert f"expected one of {', '.join(['all', *names()])}" in str(error.value)


def test_a_strategy_is_added_by_one_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    only: dict[str, type[Strategy]] = {}
    for module in (base, registry):
        monkeypatch.setattr(module, "REGISTERED", only)

    @register("count")
    class Count(Strategy):
        name = "count"

        def score(self, firings: Firings) -> np.ndarray:
            return firings.count.astype(np.float64)

    assert names() == ["count"]
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1], 2: [0]}, {}], [0.9, 0.5])
    assert score(firings, [strategy("count")]).tolist() == [[2, 1]]


def test_all_is_every_strategy(engine: Engine) -> None:
    found = [one.name for one in strategies(["all"], engine.names, [1, 2, 3, 0])]
    several = {"noisy-or-top-2", "noisy-or-top-3"}
    assert set(found) == set(names()) - {"noisy-or-top-h"} | several
    assert len(found) == len(set(found))
    # what is named again is there once
    again = strategies(["all", "max", "noisy-or-top-2"], engine.names, [1, 2, 3, 0])
    assert [one.name for one in again] == found


def test_all_are_evaluated(engine: Engine) -> None:
    found = evaluate(engine, ["all"], top_h=[1, 2]).ranks
    assert set(found.strategies) == set(names()) - {"noisy-or-top-h"} | {"noisy-or-top-2"}


def test_which_strategies_need_a_fit() -> None:
    given = [name for name in names() if not name.endswith("-h")]
    assert sorted(name for name in given if not strategy(name).fitted) == NEED_A_FIT


@pytest.mark.parametrize("name", NEED_A_FIT)
def test_what_is_not_fitted_neither_scores_nor_is_saved(engine: Engine, name: str) -> None:
    one = strategy(name)
    message = f"{name} is not fitted".replace("*", "[*]")
    with pytest.raises(NotFittedError, match=message):
        rank_split(engine, "test", [strategy("max"), one])
    with pytest.raises(NotFittedError, match=message):
        one.save("file", engine.names)
