"""The style of plots, and how they are saved: the same bytes for the same numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from kgagg.util.files import replacing

# Okabe and Ito's colours, distinct with any kind of colour blindness; shapes and
# line styles say the same once more
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "kgagg",
}


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure without the date, so that equal figures are equal files."""
    kind = Path(path).suffix[1:]
    metadata = {"svg": {"Date": None}, "png": {"Software": None}}[kind]
    with replacing(path) as temporary:
        figure.savefig(temporary, metadata=metadata)
