"""A stopwatch with a clock of our own."""

from __future__ import annotations

import itertools

import numba
import pytest

from kgagg.util import timing
from kgagg.util.timing import Stopwatch


def test_the_time_to_compile_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # begin; then begin and end of the stage, in which 5 of 20 seconds go into compiling
    monkeypatch.setattr(timing.time, "perf_counter", iter([0.0, 10.0, 30.0, 40.0]).__next__)
    monkeypatch.setattr(timing, "_compiled", iter([1.0, 6.0]).__next__)
    watch = Stopwatch()
    with watch.stage("apply"):
        pass
    assert watch.seconds == {"apply": 15.0, "compile": 5.0}
    assert watch.total() == 40.0


def test_a_stage_of_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    # every look at the clock takes a second, so that only getting the items counts
    monkeypatch.setattr(timing.time, "perf_counter", itertools.count().__next__)
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
