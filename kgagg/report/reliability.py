"""The reliability plot: observed against predicted probabilities."""

from __future__ import annotations

import os
from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from kgagg.prediction.calibration import Reliability
from kgagg.report.style import COLOURS, SHAPES, STYLE, save


def draw(curves: Mapping[str, Reliability], path: str | os.PathLike[str]) -> None:
    """Draw the share of correct answers against the predicted probability.

    Parameters
    ----------
    curves : mapping from str to Reliability
        By name; all of the same answers.
    path : path
        Where to write; the ending says in which form.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 4.6), layout="constrained")
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
        axes.plot([0, 1], [0, 1], color=COLOURS[-1], linestyle="--", linewidth=1)
        marks = zip(curves.items(), COLOURS, SHAPES, strict=False)
        for (name, curve), colour, shape in marks:
            label = f"{name} (mean error {curve.error:.4f})"
            axes.plot(curve.predicted, curve.observed, color=colour, marker=shape, label=label)
            below.plot(curve.predicted, curve.answers, color=colour, marker=shape, markersize=4)
            axes.set_ylabel(f"share of correct answers, on {curve.split}")
        below.set_yscale("log")
        below.set_ylabel("answers")
        below.set_xlabel("predicted probability")
        if curves:
            axes.legend(loc="upper left")
        save(figure, path)
