"""Pictures, the same bytes each time they are drawn from the same numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from kgagg.files import replacing
from kgagg.graph import Graph

STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.alpha": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "kgagg",
}


def degrees(graphs: Mapping[str, Graph], path: str | os.PathLike[str]) -> None:
    """Draw for each graph how many entities of the train split have at least so many triples.

    Parameters
    ----------
    graphs : mapping from str to Graph
        By title.
    path : path
        Where to write; the ending says in which form.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.subplots()
        for title, graph in graphs.items():
            degree = np.sort(np.bincount(graph.train[:, ::2].ravel()))[::-1]
            axes.loglog(degree, np.arange(1, len(degree) + 1), label=title)
        axes.set_xlabel("triples of an entity, at least")
        axes.set_ylabel("entities")
        axes.legend(frameon=False)
        save(figure, path)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure without the date, so that equal figures are equal files."""
    with replacing(path) as temporary:
        figure.savefig(temporary, metadata={"Date": None})
