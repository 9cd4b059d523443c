"""A stopwatch with a clock of our own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace

import numba
import pytest

from kgagg.util import timing
from kgagg.util.timing import Stopwatch


def set_clock(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=clock))


def test_the_time_to_compile_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # begin; then begin and end of the stage, in which 5 of 20 seconds go into compiling
    set_clock(monkeypatch, iter([0.0, 10.0, 30.0, 40.0]).__next__)
    monkeypatch.setattr(timing, "_compiled", iter([1.0, 6.0]).__next__)
    watch = Stopwatch()
    with watch.stage("apply"):
        pass
    assert watch.seconds == {"apply": 15.0, "compile": 5.0}
    assert watch.total() == 40.0


def test_a_stage_of_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    # every look at the clock takes a second, so that only getting the items counts
    set_clock(monkeypatch, itertools.count().__next__)
    monkeypatch.setattr(timing, "_compiled", lambda: 0.0)
    watch = Stopwatch()
    assert list(watch.each("load", [1, 2])) == [1, 2]
    assert watch.seconds == {"load": 3, "compile": 0.0}


def test_compiling_is_heard_of() -> None:
    watch = Stopwatch()
    with watch.stage("apply"):
        numba.njit(lambda x: x + 1)(1)
    assert watch.seconds["compile"] > 0
    assert watch.total() >= sum(watch.seconds.values())
