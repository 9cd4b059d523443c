"""The plots of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from kgagg.report.results import Result, ordered, title
from kgagg.report.style import COLOURS, SHAPES, STYLE, save
from kgagg.util.text import MINUS


def draw(results: Sequence[Result], times: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Draw all pictures of a run, each as SVG and PNG.

    Parameters
    ----------
    results : sequence of results
        See `kgagg.report.results`.
    times : sequence of mappings
        What `kgagg time --json` says of each.
    folder : Path
        Where to write.
    """
    with mpl.rc_context(STYLE):
        for name, figure in (
            ("curve", _curve(results)),
            ("tradeoff", _tradeoff(results, times)),
            ("chosen", _chosen(results)),
            ("learning", _fits(results, "epochs")),
            ("thresholds", _fits(results, "threshold")),
            ("trees", _fits(results, "trees")),
            ("rules", _rules(results)),
            ("gain", _gain(results)),
        ):
            if figure is None:
                continue
            for kind in ("svg", "png"):
                save(figure, folder / f"{name}.{kind}")


def _panels(titles: Sequence[str], height: float = 2.6) -> tuple[Figure, list[Axes]]:
    """Make one panel for each title, at most four in a row."""
    across = min(4, max(1, len(titles)))
    down = -(-len(titles) // across)
    figure = Figure(figsize=(2.9 * across + 0.4, height * down + 0.7), layout="constrained")
    panels = list(figure.subplots(max(down, 1), across, squeeze=False).flat)
    for axes, text in zip(panels, titles, strict=False):
        axes.set_title(text)
    for axes in panels[len(titles) :]:
        axes.set_visible(False)
    return figure, panels


def _legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """Put one legend for all panels below them, if there is anything to explain."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if not entries:
        return
    labels = list(entries)
    figure.legend(
        handles=[entries[label] for label in labels],
        labels=labels,
        loc="outside lower center",
        ncols=min(5, len(entries)),
    )


def _titles(results: Sequence[Result], key: str) -> dict[str, str]:
    return {one[key]: one["titles"][key] for one in results}


def _curve(results: Sequence[Result]) -> Figure:
    """Draw MRR against h: a column for each dataset, test above, valid below."""
    datasets, rules = _titles(results, "dataset"), list(_titles(results, "rules"))
    # on valid the facts of test are not filtered, so the two splits need scales of their own
    figure = Figure(figsize=(2.6 * len(datasets) + 0.6, 5), layout="constrained")
    panels = figure.subplots(2, len(datasets), squeeze=False)
    for row, split in zip(panels, ("test", "valid"), strict=True):
        row[0].set_ylabel(f"MRR on {split}")
        for axes, dataset in zip(row, datasets, strict=True):
            axes.set_title(datasets[dataset])
            axes.set_xlabel("h")
            for one in (one for one in results if one["dataset"] == dataset):
                number = rules.index(one["rules"])
                heights = [point["h"] for point in one["curve"]]
                # all rules stand two steps to the right of the last h
                at = [h or max(heights) + 2 for h in heights]
                axes.plot(
                    at,
                    [point[split] for point in one["curve"]],
                    color=COLOURS[number],
                    marker=SHAPES[number],
                    markersize=4,
                    label=one["titles"]["rules"],
                )
                axes.set_xticks(at, [str(h) if h else "all" for h in heights])
    _legend(figure, panels.flat)
    return figure


def _tradeoff(results: Sequence[Result], times: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw MRR against runtime: a panel for each dataset and rule set, a mark for each strategy."""
    strategies = ordered(results)
    seconds = {(time["rules"], time["dataset"]): time["strategies"] for time in times}
    figure, panels = _panels(
        [f"{one['titles']['dataset']}, {one['titles']['rules']}" for one in results]
    )
    for axes, one in zip(panels, results, strict=False):
        timed = seconds.get((one["rules"], one["dataset"]), {})
        for strategy, values in one["strategies"].items():
            if strategy not in timed:
                continue
            number, total, mrr = strategies.index(strategy), timed[strategy]["total"], values["mrr"]
            axes.errorbar(
                total["median"],
                mrr["value"],
                xerr=[[total["median"] - total["low"]], [total["high"] - total["median"]]],
                yerr=[[mrr["value"] - mrr["low"]], [mrr["high"] - mrr["value"]]],
                fmt=SHAPES[number % len(SHAPES)],
                color=COLOURS[number % len(COLOURS)],
                elinewidth=0.7,
                label=title(strategy),
            )
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        wide = high > 8 * low
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if wide else (1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("seconds")
        axes.set_ylabel("MRR")
    _legend(figure, panels)
    return figure


def _chosen(results: Sequence[Result]) -> Figure:
    """Draw which h was chosen how often: a panel for each dataset, bars for each rule set."""
    results = [one for one in results if one["chosen"]]
    datasets, rules = _titles(results, "dataset"), list(_titles(results, "rules"))
    figure, panels = _panels(list(datasets.values()))
    for axes, dataset in zip(panels, datasets, strict=False):
        here = [one for one in results if one["dataset"] == dataset]
        names = list(dict.fromkeys(name for one in here for name in one["choices"]))
        labels = ["all" if name == "noisy-or" else title(name).split("-")[-1] for name in names]
        for place, one in enumerate(here):
            chosen = [
                choice
                for by_direction in one["chosen"].values()
                for choice in by_direction.values()
            ]
            number, width = rules.index(one["rules"]), 0.8 / len(here)
            axes.bar(
                np.arange(len(names)) + (place - (len(here) - 1) / 2) * width,
                [chosen.count(name) for name in names],
                width,
                color=COLOURS[number],
                hatch=("", "////", "....", "xxxx")[number % 4],
                edgecolor="white",
                label=one["titles"]["rules"],
            )
        axes.set_xticks(range(len(labels)), labels)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("chosen h*")
        axes.grid(axis="x", visible=False)
    for axes in panels[::4]:
        axes.set_ylabel("relations and directions")
    _legend(figure, panels)
    return figure


def _fits(results: Sequence[Result], along: str) -> Figure | None:
    """Draw MRR on valid against what fits go along, if any does: a panel for each result."""
    fits = [
        (one, {name: fit for name, fit in one["fits"].items() if fit["along"] == along})
        for one in results
    ]
    fits = [(one, found) for one, found in fits if found]
    if not fits:
        return None
    names = sorted({name for _, found in fits for name in found})
    figure, panels = _panels(
        [f"{one['titles']['dataset']}, {one['titles']['rules']}" for one, _ in fits]
    )
    for axes, (_, found) in zip(panels, fits, strict=False):
        for name, fit in found.items():
            number = names.index(name)
            axes.plot(
                *zip(*fit["curve"], strict=True),
                color=COLOURS[number],
                marker=SHAPES[number] if along == "epochs" else "",
                markersize=4,
                label=title(name),
            )
        axes.set_xlabel(along)
        axes.set_ylabel("MRR on valid")
    _legend(figure, panels)
    return figure


def _rules(results: Sequence[Result]) -> Figure:
    """Draw how the confidence of each type of rules is distributed."""
    figure, panels = _panels(
        [
            f"{one['titles']['dataset']}, {one['titles']['rules']}\n"
            + f"{one['counts']['rules']['total']:,} rules".replace(",", " ")
            for one in results
        ]
    )
    types = list(dict.fromkeys(kind for one in results for kind in one["counts"]["histogram"]))
    for axes, one in zip(panels, results, strict=False):
        bottom: np.ndarray | float = 0.0
        for kind, counts in one["counts"]["histogram"].items():
            edges = np.linspace(0, 1, len(counts) + 1)
            share = np.array(counts) / max(1, one["counts"]["rules"]["total"])
            axes.bar(
                edges[:-1],
                share,
                np.diff(edges),
                bottom,
                align="edge",
                color=COLOURS[types.index(kind) % len(COLOURS)],
                edgecolor="white",
                linewidth=0.3,
                label=kind,
            )
            bottom = bottom + share
        axes.set_xlabel("confidence")
        axes.set_ylabel("share of rules")
    _legend(figure, panels)
    return figure


def _gain(
    results: Sequence[Result], first: str = "noisy-or-top-h*", second: str = "max+"
) -> Figure:
    """Draw what one strategy gains over another, by relation and direction."""
    results = [one for one in results if {first, second} <= one["strategies"].keys()]
    figure, panels = _panels(
        [f"{one['titles']['dataset']}, {one['titles']['rules']}" for one in results]
    )
    for axes, one in zip(panels, results, strict=False):
        rows = one["relations"]
        gain = np.array([row["mrr"][first] - row["mrr"][second] for row in rows])
        queries = np.array([row["queries"] for row in rows], float)
        tail = np.array([row["direction"] == "tail" for row in rows])
        order = np.argsort(gain, kind="stable")
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        for mask, label, number in ((tail, "tail queries", 0), (~tail, "head queries", 1)):
            axes.scatter(
                place[mask],
                gain[mask],
                s=5 + 80 * queries[mask] / max(1.0, queries.max(initial=1.0)),
                color=COLOURS[number],
                marker=SHAPES[number],
                alpha=0.7,
                linewidths=0,
                label=label,
            )
        axes.axhline(0, color="black", linewidth=0.6)
        axes.set_xlabel("relations and directions, by gain")
        axes.set_ylabel(f"{title(first)} {MINUS} {title(second)}, MRR")
    _legend(figure, panels)
    return figure
