"""A picture of how far probabilities can be trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from kgagg.prediction.calibration import Reliability
from kgagg.report.style import COLOURS, SHAPES, STYLE, save


def draw(curves: Mapping[str, Reliability], path: str | os.PathLike[str]) -> None:
    """Draw how often answers are right against the probability that is said of them.

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
            axes.plot(curve.said, curve.found, color=colour, marker=shape, label=label)
            below.plot(curve.said, curve.answers, color=colour, marker=shape, markersize=4)
            axes.set_ylabel(f"share of answers that are right, on {curve.split}")
        below.set_yscale("log")
        below.set_ylabel("answers")
        below.set_xlabel("probability said")
        if curves:
            axes.legend(loc="upper left")
        save(figure, path)
