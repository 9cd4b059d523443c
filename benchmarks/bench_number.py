"""Measure how the MRR depends on the number of rules.

Of a rule file the N rules with the most correct predictions are taken, for N from 10^4 on in steps
of half a power of ten, and at last all. Prints a Markdown table for each graph, and with ``--plot``
draws them. Example:

    kgagg mine native wnrr --out wnrr.rules
    python benchmarks/bench_number.py wnrr wnrr.rules fb15k-237 fb.rules --plot number.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import kgagg
from kgagg.report.style import SHAPES, STYLE, save

STRATEGIES = ("max", "max+", "noisy-or", "noisy-or-top-5", "noisy-or-top-h*")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", nargs="*", help="a graph and its rules, and so on")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the tables here, as .svg")
    args = parser.parse_args()
    found = {}
    for data, rules in zip(args.inputs[::2], args.inputs[1::2], strict=True):
        print(f"\n| {Path(data).name}, rules | {' | '.join(STRATEGIES)} |")
        print(f"|--:{'|--:' * len(STRATEGIES)}|")
        found[Path(data).name] = []
        for number, mrr in measured(data, rules):
            found[Path(data).name].append((number, *mrr))
            print(f"| {number:,} | {' | '.join(f'{one:.4f}' for one in mrr)} |", flush=True)
    if args.plot:
        draw(found, args.plot)


def measured(data: str, file: str) -> Iterator[tuple[int, list[float]]]:
    """Yield numbers of rules, and the MRR of each strategy with so many."""
    graph, rules = kgagg.Graph.read(data), kgagg.RuleSet.read(file)
    order = np.argsort(-rules.correct.astype(np.int64), kind="stable")
    numbers = [int(10 ** (power / 2)) for power in range(8, 15)]
    for number in [*(one for one in numbers if one < len(rules)), len(rules)]:
        table = kgagg.evaluate(graph, rules[np.sort(order[:number])], STRATEGIES)
        yield number, table["mrr"].tolist()


def draw(found: dict[str, list[tuple[float, ...]]], path: Path) -> None:
    """Draw a panel for each graph."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3 * len(found) + 0.4, 3.4), layout="constrained")
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, (name, rows) in zip(panels, found.items(), strict=True):
            number, *columns = zip(*rows, strict=True)
            for label, shape, column in zip(STRATEGIES, SHAPES, columns, strict=False):
                axes.plot(number, column, marker=shape, markersize=4, label=label)
            axes.set(title=name, xlabel="rules", ylabel="MRR", xscale="log")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        save(figure, path)


if __name__ == "__main__":
    main()
