"""The native miner, which needs only this package.

It finds all rules of its language that reach the thresholds: constant, dangling, zero and reflexive
rules with at most one body atom, and cyclic rules with at most two. Of cyclic rules with longer
bodies it finds those of the most useful bodies. How long bodies are, and how many rules are kept,
is chosen by a trial (see `kgagg.mining.native.trial`). Work is counted, so what is found depends on
the data alone; with a limit in seconds it depends on the machine how far down the same list one
gets.
"""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.engine.index import LONGEST
from kgagg.errors import Failed, InputError, at_least
from kgagg.graph.graph import Graph
from kgagg.mining.native.budget import SECONDS, WORK, Budget
from kgagg.mining.native.cyclic import Cyclic
from kgagg.mining.native.found import MOST, Codes, Thresholds, by_use, rule_set
from kgagg.mining.native.trial import FEW, Plan, Trial
from kgagg.mining.native.unary import mine_unary
from kgagg.mining.record import save_record
from kgagg.mining.runner import signals
from kgagg.rules.writing import write
from kgagg.util.machine import processors
from kgagg.util.timing import peak_memory


def mine(
    data: str | Graph,
    out: Path,
    *,
    literals: str = "drop",
    no_leak: bool = False,
    max_length_cyclic: int | None = None,
    thresholds: Thresholds | None = None,
    seconds: float | None = None,
    plan: Plan | None = None,
    threads: int | None = None,
    quiet: bool = True,
) -> dict[str, Any]:
    """Mine rules into `out`, and return the record written beside it.

    Parameters
    ----------
    data : str or Graph
        See `Graph.read`.
    out : Path
        The rule file: binary if it ends in .kgagg, Parquet if in .parquet, else text.
    literals : str
        See `Graph.read`.
    no_leak : bool
        Refuse a graph whose valid or test has triples of an earlier split, instead of a warning.
    max_length_cyclic : int, optional
        The longest body of cyclic rules; chosen for the graph without it.
    thresholds : Thresholds, optional
        What a rule must reach.
    seconds : float, optional
        Plan for this much time instead of a fixed amount of work, stop when it is over, and write
        what was found by then.
    plan : Plan, optional
        How much to mine; chosen by a trial without it.
    threads : int, optional
        All that this process may use without it.
    quiet : bool
        Show no progress.

    Raises
    ------
    InputError
        If an argument is out of range.
    KeyboardInterrupt
        If a signal ended the run; the rules found by then are written.
    """
    # long: the stages of one run, and its record
    start = time.monotonic()
    thresholds = thresholds or Thresholds()
    at_least("threads", threads, 1)
    threads = threads or processors()
    graph = data if isinstance(data, Graph) else Graph.read(data, literals=literals)
    name = "a graph in memory" if isinstance(data, Graph) else str(data)
    graph.report_leaks(name, refuse=no_leak)
    limit = _check_length(max_length_cyclic, graph)
    work = WORK if seconds is None else int(WORK * seconds / SECONDS * threads / 2)
    with (
        signals() as received,
        Budget(work, seconds, threads, received, start=start, quiet=quiet) as budget,
    ):
        budget.begin("rules with a constant")
        unary, left_out = mine_unary(
            graph, thresholds, MOST if plan is None else plan.rules, budget
        )
        report = None
        if plan is None and (max_length_cyclic is None or len(unary) > FEW):
            trial = Trial(graph, thresholds, budget)
            plan = trial.choose(max_length_cyclic, limit, work)
            report = trial.report()
            del trial
        plan = plan or Plan(max_length_cyclic or limit, FEW, work)
        budget.begin("cyclic rules")
        search, lengths = _cyclic(graph, thresholds, plan, budget)
        found = np.concatenate([unary, *search.found])
        kept = by_use(found)[: plan.rules]
        if received and not len(kept):
            raise KeyboardInterrupt(f"native: interrupted by {received[0].name}; kept nothing")
        if not len(kept):
            raise Failed(f"native: found no rule in {name}")
        budget.begin(f"writing {out.name}")
        mined, error = rule_set(kept, graph, out.name)
        write(mined, out, threads=threads, written=partial(setattr, budget, "rules"))
        digest = mined.digest
        took = budget.end(f"{len(mined):,} rules")
    record = save_record(
        out,
        name,
        graph,
        mined.counts(),
        digest,
        complete=budget.stopped is None,
        threads=threads,
        settings={"seconds": seconds, **dataclasses.asdict(thresholds)},
        chosen=dataclasses.asdict(plan),
        trial=report,
        stopped=budget.stopped,
        left_out=left_out + len(found) - len(kept),
        long_bodies=lengths,
        sampled=_sampled(error),
        runs=[{"seconds": took, "peak_memory_mb": round(peak_memory()), "rules": len(mined)}],
    )
    if received:
        # it may have come when everything was found
        whole = "all rules" if budget.stopped is None else "the rules found so far"
        by = f"interrupted by {received[0].name}"
        raise KeyboardInterrupt(f"native: {by}; kept {whole} in {out.name}")
    return record


def _cyclic(
    graph: Graph, thresholds: Thresholds, plan: Plan, budget: Budget
) -> tuple[Cyclic, list[dict[str, Any]]]:
    """Find cyclic rules as planned; return them, and for the record what was done by length."""
    search = Cyclic(graph, thresholds, budget, plan.sample)
    search.count_short(plan.longest)
    lengths, work = [], plan.work
    for length in range(3, plan.longest + 1):
        if budget.over():
            break
        budget.state = f"bodies of {length} steps"
        start = budget.spent
        lengths.append(search.count_long(length, work if length == plan.longest else work // 2))
        work -= budget.spent - start
    return search, lengths


def _check_length(length: int | None, graph: Graph) -> int:
    """Return how long bodies can be."""
    longest = min(Codes(2 * len(graph.relations)).longest, LONGEST)
    if length is not None and not 1 <= length <= longest:
        raise InputError(
            f"--max-length-cyclic {length}: expected 1 to {longest} "
            f"with {len(graph.relations)} relations"
        )
    return longest


def _sampled(error: np.ndarray) -> dict[str, Any]:
    """Return which rules have sampled counts, and their mean error (see `rule_set`)."""
    rows = np.flatnonzero(~np.isnan(error))
    return {
        "rules": len(rows),
        "standard_error": float(np.sqrt(np.mean(error[rows] ** 2))) if len(rows) else 0.0,
        "lines": _ranges(rows + 1),
    }


def _ranges(numbers: np.ndarray) -> str:
    """Write ascending numbers as in ``3,7-9``."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ",".join(
        f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs if len(run)
    )
