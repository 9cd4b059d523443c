"""The plot of degrees: how many triples the entities of graphs have."""

from __future__ import annotations

import os
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from kgagg.graph.graph import Graph
from kgagg.report.style import STYLE, save


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
        for name, graph in graphs.items():
            degree = np.sort(np.bincount(graph.train[:, ::2].ravel()))[::-1]
            axes.loglog(degree, np.arange(1, len(degree) + 1), label=name)
        axes.set_xlabel("triples of an entity, at least")
        axes.set_ylabel("entities")
        axes.legend()
        save(figure, path)
