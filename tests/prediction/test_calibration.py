"""Calibration: isotonic regression against a slow one, and what is counted for it."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.evaluation.run import ready_strategy
from kgagg.prediction.answers import answer
from kgagg.prediction.calibration import Answered, Calibration, Reliability, answered


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.4, 0.5, 0.9]), st.booleans()), min_size=1))
def test_the_calibration_is_the_isotonic_regression(pairs: list[tuple[float, bool]]) -> None:
    values, right = zip(*pairs, strict=True)
    whole = Answered.of(np.array(values), np.array(right))
    half = len(pairs) // 2
    parts = (pairs[:half], pairs[half:])
    counted = [
        Answered.of(np.array([v for v, _ in part]), np.array([r for _, r in part], bool))
        for part in parts
    ]
    joined = Answered.joined(counted)
    assert joined.right.tolist() == whole.right.tolist()
    calibration = Calibration.fit(joined)
    exact = naive.isotonic(values, right)
    found = calibration(np.array(list(exact)))
    assert found.tolist() == pytest.approx(list(exact.values()))
    # on what it was fitted to, a calibration is right on average
    reliability = Reliability.of("valid", calibration(whole.score), whole)
    assert (reliability.predicted * reliability.answers).sum() == pytest.approx(sum(right))
    assert reliability.brier <= np.mean(np.square(np.array(values) - np.array(right))) + 1e-9


def test_no_answers_no_calibration() -> None:
    with pytest.raises(InputError, match="no answers"):
        Calibration.fit(Answered.of(np.empty(0), np.empty(0, bool)))


def test_answers_are_counted_as_they_are(engine: Engine) -> None:
    chosen = ready_strategy(engine, "max")
    counts = answered(engine, chosen, "valid", top_x=0)
    # every prediction of a fact of valid is right once for each direction
    graph = engine.graph
    right = 0
    for triple in graph.valid.tolist():
        for one in answer(
            engine, Queries.from_patterns(np.array([triple], np.int32)), chosen, top_x=0, top_k=0
        ):
            target = triple[2] if one.tail < 0 else triple[0]
            right += int(target in one.candidates.entity)
    assert counts.right.sum() == right
    assert (counts.right <= counts.answers).all()
    assert (np.diff(counts.score) > 0).all()
