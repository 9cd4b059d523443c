"""Rules and their worth against the time it took to mine them, side by side with AnyBURL.

    python benchmarks/bench_mining.py DATA [--seconds 10,30,100] [--max-length-cyclic 3]
                                      [--threads 2] [--plot mining.svg]

Each miner is given each of the times; the native miner chooses the length of bodies itself. AnyBURL
stores its snapshots in one run, and takes part if its jar is in the cache. MRR is that of the valid
split, so that nothing is learnt from test.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kgagg.engine.engine import Engine
from kgagg.evaluation.metrics import evaluate
from kgagg.graph.graph import Graph
from kgagg.mining import anyburl
from kgagg.mining.jars import DEFAULT, JARS, in_cache
from kgagg.mining.native import miner as native
from kgagg.mining.record import variant
from kgagg.mining.setup import prepare
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import rank_split

STRATEGIES = ("max+", "noisy-or-top-5")


class Point(NamedTuple):
    """What one run of a miner gave, with the MRR of each strategy."""

    miner: str
    seconds: float
    rules: int
    mrr: tuple[float, ...]


def point(miner: str, seconds: float, path: Path, graph: Graph) -> Point:
    names = graph.entities, graph.relations
    rules = RuleSet.read(path, names, Confidence.preset("anyburl"))
    ranks = rank_split(Engine(graph, rules), "valid", [strategy(name) for name in STRATEGIES])
    table = evaluate(ranks, ["mrr"]).set_index("strategy")["value"]
    return Point(miner, seconds, len(rules), tuple(float(table[name]) for name in STRATEGIES))


def measure(args: argparse.Namespace, folder: Path) -> Iterator[Point]:
    graph = Graph.read(args.data)
    for seconds in args.seconds:
        out = folder / f"native-{seconds}.kgagg"
        record = native.mine(
            args.data,
            out,
            seconds=seconds,
            threads=args.threads,
        )
        yield point("native", record["runs"][0]["seconds"], out, graph)
        if record["complete"]:
            break
    if in_cache(JARS[DEFAULT["anyburl"]].artifact) is None:
        print("AnyBURL: its jar is not in the cache (see kgagg doctor)")
        return
    setup = prepare(args.data, "anyburl", threads=args.threads)
    out = folder / "anyburl.rules"
    anyburl.mine(
        setup, out, snapshots=args.seconds, max_length_cyclic=args.max_length_cyclic, quiet=True
    )
    for seconds in args.seconds:
        path = out if seconds == args.seconds[-1] else variant(out, str(seconds))
        yield point("AnyBURL", seconds, path, graph)


def draw(points: list[Point], title: str, path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from kgagg.report.style import SHAPES, STYLE, save

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 3.5), layout="constrained")
        worth, speed = figure.subplots(1, 2)
        for miner, shape in zip(("native", "AnyBURL"), SHAPES, strict=False):
            chosen = [each for each in points if each.miner == miner]
            seconds = [each.seconds for each in chosen]
            for i, (name, line) in enumerate(zip(STRATEGIES, ("-", "--"), strict=True)):
                colour = f"C{int(miner != 'native')}"
                values = [each.mrr[i] for each in chosen]
                worth.plot(seconds, values, line, c=colour, marker=shape, label=f"{miner}, {name}")
            rates = [each.rules / each.seconds for each in chosen]
            speed.loglog(seconds, rates, marker=shape, label=miner)
        worth.set(xscale="log", xlabel="seconds of mining", ylabel="MRR (valid)", title=title)
        speed.set(xlabel="seconds of mining", ylabel="rules per second")
        worth.legend()
        speed.legend()
        save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Mining natively, beside AnyBURL.")
    parser.add_argument("data", help="a folder, or the name of a dataset")
    parser.add_argument(
        "--seconds",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[10, 30, 100],
        help="ascending, with commas between (10,30,100)",
    )
    parser.add_argument("--max-length-cyclic", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plot", type=Path, help="draw it, as .svg or .png")
    args = parser.parse_args()
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for each in measure(args, Path(folder)):
            points.append(each)
            mrr = "  ".join(f"{n} {v:.4f}" for n, v in zip(STRATEGIES, each.mrr, strict=True))
            rate = each.rules / each.seconds
            size = f"{each.rules:>10,} rules {rate:>9,.0f}/s"
            print(f"{each.miner:<8}{each.seconds:7.1f} s {size}  {mrr}", flush=True)
    if args.plot:
        draw(points, Path(args.data).name, args.plot)


if __name__ == "__main__":
    main()
