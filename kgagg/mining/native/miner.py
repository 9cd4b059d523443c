"""The native miner, which needs only this package.

It finds all rules of its language that reach the thresholds: constant, dangling, zero and reflexive
rules with at most one body atom, and cyclic rules. Of cyclic rules with three or more body atoms it
finds those of the most useful bodies, as far as it is let. Rules with more correct predictions are
taken for more useful. What is found depends on the data and the limits alone, not on the number of
threads; with a limit in seconds it depends on the machine how far down the same list one gets.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.errors import Failed, InputError, at_least
from kgagg.graph.graph import Graph
from kgagg.mining.native.budget import Budget
from kgagg.mining.native.cyclic import Cyclic, Effort
from kgagg.mining.native.found import Codes, Thresholds, most_useful, rule_set
from kgagg.mining.native.unary import mine_unary
from kgagg.mining.record import canonical_digest, save_record
from kgagg.mining.runner import signals
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.writing import BINARY, PARQUET, write
from kgagg.util.machine import processors
from kgagg.util.timing import peak_memory


def mine(
    data: str | Graph,
    out: Path,
    *,
    literals: str = "drop",
    no_leak: bool = False,
    max_length_cyclic: int = 3,
    rules: int | None = 2_000_000,
    effort: Effort | None = None,
    thresholds: Thresholds | None = None,
    seconds: float | None = None,
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
    max_length_cyclic : int
        The longest body of cyclic rules.
    rules : int or None
        Keep at most this many rules: all cyclic and zero rules first, then those with most correct
        predictions; None keeps all.
    effort : Effort, optional
        How much work is done for cyclic bodies of three and more steps.
    thresholds : Thresholds, optional
        What a rule must reach.
    seconds : float, optional
        Stop mining after this time, and write what was found by then.
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
    effort, thresholds = effort or Effort(), thresholds or Thresholds()
    at_least("threads", threads, 1)
    threads = threads or processors()
    graph = data if isinstance(data, Graph) else Graph.read(data, literals=literals)
    name = "a graph in memory" if isinstance(data, Graph) else str(data)
    graph.report_leaks(name, refuse=no_leak)
    _check_length(max_length_cyclic, graph)
    with signals() as received:
        budget = Budget(seconds, threads, received, quiet=quiet)
        unary, left_out = mine_unary(graph, thresholds, rules, budget)
        search = Cyclic(graph, thresholds, effort, budget)
        search.count_short(max_length_cyclic)
        report = search.count_long(max_length_cyclic)
        found = np.concatenate([unary, *search.found])
        kept = most_useful(found, rules)
        if received and not len(kept):
            raise KeyboardInterrupt(f"native: interrupted by {received[0].name}; kept nothing")
        if not len(kept):
            raise Failed(f"native: found no rule in {name}")
        mined, error = rule_set(kept, graph, out.name)
        took = budget.end(f"{len(mined):,} rules")
        write(mined, out)
    limits = {"max_length_cyclic": max_length_cyclic, "rules": rules, "seconds": seconds}
    record = save_record(
        out,
        name,
        graph,
        mined.counts(),
        _digest(mined, out),
        complete=budget.stopped is None,
        threads=threads,
        settings=limits | dataclasses.asdict(thresholds) | dataclasses.asdict(effort),
        stopped=budget.stopped,
        left_out=left_out + len(found) - len(kept),
        long_bodies=report,
        sampled=_sampled(error),
        runs=[{"seconds": took, "peak_memory_mb": round(peak_memory()), "rules": len(mined)}],
    )
    if received:
        # it may have come when everything was found
        whole = "all rules" if budget.stopped is None else "the rules found so far"
        by = f"interrupted by {received[0].name}"
        raise KeyboardInterrupt(f"native: {by}; kept {whole} in {out.name}")
    return record


def _check_length(length: int, graph: Graph) -> None:
    longest = Codes(2 * len(graph.relations)).longest
    if not 1 <= length <= longest:
        raise InputError(
            f"--max-length-cyclic {length}: expected 1 to {longest} "
            f"with {len(graph.relations)} relations"
        )


def _sampled(error: np.ndarray) -> dict[str, Any]:
    """Return which rules have sampled counts, and their mean error (see `rule_set`)."""
    rows = np.flatnonzero(~np.isnan(error))
    return {
        "rules": len(rows),
        "standard_error": float(np.sqrt(np.mean(error[rows] ** 2))) if len(rows) else 0.0,
        "lines": _ranges(rows + 1),
    }


def _digest(rules: RuleSet, path: Path) -> str:
    """Return the digest of the lines of a text file, or else of the rule set."""
    return rules.digest if path.suffix in (BINARY, PARQUET) else canonical_digest(path)


def _ranges(numbers: np.ndarray) -> str:
    """Write ascending numbers as in ``3,7-9``."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ",".join(
        f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs if len(run)
    )
