"""How long strategies take, each alone, stage by stage."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import Any

from kgagg.engine.engine import Engine
from kgagg.evaluation.run import evaluate
from kgagg.report.results import STAGES, TOGETHER
from kgagg.strategies.registry import open_strategy
from kgagg.util.machine import cpu_model
from kgagg.util.timing import Stopwatch, peak_memory


def time_strategies(
    data: str | os.PathLike[str],
    rules: str | os.PathLike[str],
    strategies: Sequence[str],
    *,
    repeats: int = 3,
    top_h: Sequence[int],
    top_x: int = 200,
    semantics: str = "anyburl",
    threads: int,
    fitted: Mapping[str | os.PathLike[str], float] = MappingProxyType({}),
) -> dict[str, Any]:
    """Evaluate test by each strategy alone and by all together, several times.

    Strategies take turns, so that what else the machine does falls on all of them. Compiling, or
    reading compiled kernels from the cache, happens once for a process, in a round that does not
    count.

    Parameters
    ----------
    data, rules : path
        A graph, and rules for it.
    strategies : sequence of str
    repeats : int
    top_h, top_x, semantics, threads
        See `kgagg.evaluation.run.evaluate`.
    fitted : mapping of path to float
        Strategies that were fitted before (see `Strategy.save`), and the seconds that took: what
        takes long is not repeated every time.

    Returns
    -------
    dict
        ``strategies``: by strategy and stage (and ``total``), ``median``, ``low`` and ``high`` of
        the seconds; `TOGETHER` is all of them in one pass. ``compile``: how much longer
        the first pass took than usual. And ``threads``, ``repeats``, ``cpu``,
        ``peak_memory_mb``.
    """

    def once(names: Sequence[str]) -> dict[str, float]:
        watch = Stopwatch()
        engine = Engine.open(data, rules, semantics, threads=threads, watch=watch)
        with watch.stage("load"):
            opened = (open_strategy(path, engine.names) for path in fitted)
            ready = {one.name: one for one in opened}
        wanted = [ready.get(name, name) for name in names]
        evaluate(engine, wanted, top_h=top_h, top_x=top_x, threads=threads, watch=watch)
        seconds = {stage: watch.seconds.get(stage, 0.0) for stage in STAGES}
        before = zip(ready, fitted.values(), strict=True)
        seconds["fit"] += sum(taken for name, taken in before if name in names)
        return seconds | {"total": sum(seconds.values()), "elapsed": watch.total()}

    turns = {name: [name] for name in strategies} | {TOGETHER: list(strategies)}
    first = once(strategies)["elapsed"]
    rounds = [{name: once(names) for name, names in turns.items()} for _ in range(repeats)]
    usual = median(one[TOGETHER]["elapsed"] for one in rounds)
    return {
        "threads": threads,
        "repeats": repeats,
        "cpu": cpu_model(),
        "peak_memory_mb": round(peak_memory()),
        "compile": round(max(0.0, first - usual), 4),
        "strategies": {
            name: {
                stage: _spread([one[name][stage] for one in rounds]) for stage in (*STAGES, "total")
            }
            for name in turns
        },
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    numbers = {"median": median(values), "low": min(values), "high": max(values)}
    return {key: round(value, 4) for key, value in numbers.items()}
