"""Confidences: weights, thresholds, ties."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from ruled import chain, read

from kgagg.errors import InputError
from kgagg.rules.confidence import TYPES, Confidence, Threshold


def test_confidence_by_type() -> None:
    rules = read(
        "15\t10\t0.6\th(X,cc) <= r(X,dd)\n15\t10\t0.6\th(X,cc) <= s(X,A)\n"
        "995\t500\t0.5\th(X,cc) <= \n"
    )
    # the example of docs/semantics.md, "Rules and their confidence"
    assert rules.confidence.tolist() == pytest.approx([0.5, 0.05, 0.005])
    other = Confidence(unseen=0, weights=(("zero", 0.5),))
    assert rules.with_confidence(other).confidence.tolist() == pytest.approx(
        [2 / 3, 2 / 3, 0.5 * 500 / 995]
    )


def test_ties_are_ranked_in_the_order_of_the_files() -> None:
    rules = read(
        "9\t5\t0.5\th(X,Y) <= b(X,Y)\n", "9\t5\t0.5\th(X,Y) <= a(X,Y)\n9\t6\t.6\th(X,Y) <= c(X,Y)\n"
    )
    assert [rules.text(i)[-6:] for i in range(3)] == ["c(X,Y)", "b(X,Y)", "a(X,Y)"]
    assert rules.with_confidence(Confidence(unseen=1)).source.tolist() == [1, 0, 1]


def test_thresholds_of_the_presets() -> None:
    # docs/semantics.md, "Rules and their confidence", and AnyBURL's strict bound
    text = (
        "2\t1\t0.5\th(X,Y) <= a(X,Y)\n20000\t2\t1.0E-4\th(X,Y) <= b(X,Y)\n"
        "100000\t2\t2.0E-5\th(X,Y) <= c(X,Y)\n9\t0\t0.0\th(X,Y) <= d(X,Y)\n"
        f"9\t3\t0.3333333333333333\th(X,Y) <= {chain('XABCDEFGHIJY')}\n"
        "19999\t2\t1.0000500025001251E-4\th(X,Y) <= e(X,Y)\n"
    )
    rules = read(text, confidence=Confidence.preset("anyburl"))
    assert rules.line.tolist() == [6]
    assert rules.report.dropped == {"correct predictions": 2, "confidence": 2, "length": 1}
    assert not rules.report.unusable
    pyclause = read(text, confidence=Confidence.preset("pyclause"))
    assert sorted(pyclause.line.tolist()) == [1, 2, 4, 5, 6]
    assert read(text).with_confidence(Confidence.preset("anyburl")).line.tolist() == [6]
    only_zero = Confidence(thresholds=(("zero", Threshold(correct=100)),))
    assert len(read(text, confidence=only_zero)) == 6


def test_settings_are_checked_and_survive_json() -> None:
    for name in ("anyburl", "pyclause"):
        preset = dataclasses.replace(Confidence.preset(name), pca=True)
        assert Confidence.from_json(json.loads(json.dumps(preset.to_json()))) == preset
    with pytest.raises(InputError, match="did you mean anyburl"):
        Confidence.preset("anyburk")
    with pytest.raises(InputError, match="did you mean dangling"):
        Confidence(weights=(("danglin", 0.1),))
    with pytest.raises(InputError, match="weights between 0 and 1"):
        Confidence(weights=(("zero", 2),))


def test_what_just_reaches_a_threshold_is_kept() -> None:
    types, every = np.zeros(3, np.uint8), np.full(3, 10)
    for strict in (False, True):
        limit = Threshold(correct=5, confidence=0.5, strict=strict, length=3)
        kept = Confidence(thresholds=((TYPES[0], limit),)).kept(
            types, every, np.array([4, 5, 6]), np.array([2, 3, 4])
        )
        assert kept["correct predictions"].tolist() == [False, True, True]
        assert kept["confidence"].tolist() == [False, not strict, True]
        assert kept["length"].tolist() == [True, True, False]
