"""Evaluate strategies on a split: fit what needs it, apply the rules once, score, rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.errors import InputError, nearest
from kgagg.evaluation.metrics import evaluate as metrics_of
from kgagg.evaluation.significance import intervals
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.targets import TieOrder, frequency_order, java_order
from kgagg.ranking.ties import METRICS, TIES
from kgagg.strategies.base import TOP_H, Strategy
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import ALL, PAPER, fit_all
from kgagg.strategies.registry import strategies as find_strategies
from kgagg.strategies.scoring import best_rules, rank_all, rank_split
from kgagg.util.timing import Stopwatch

if TYPE_CHECKING:
    import pandas as pd

# ties are left, or broken by an order while ranking
TIE_POLICIES = (*TIES, "frequency", "anyburl")


@dataclass(frozen=True)
class Evaluation:
    """Strategies, evaluated on a split.

    Attributes
    ----------
    ranks : Ranks
        Of each requested strategy.
    strategies : tuple of Strategy
        The same, fitted.
    ties : str
        See `evaluate`.
    seed : int
    """

    ranks: Ranks
    strategies: tuple[Strategy, ...]
    ties: str
    seed: int

    @property
    def _ties(self) -> str:
        # an order has broken all ties already
        return self.ties if self.ties in TIES else "expected"

    def metrics(self) -> pd.DataFrame:
        """Return the metrics of each strategy (see `kgagg.evaluation.metrics.evaluate`)."""
        return metrics_of(self.ranks, METRICS, self._ties, self.seed)

    def intervals(self, metric: str = "mrr") -> pd.DataFrame:
        """Return bootstrap confidence intervals (see `kgagg.evaluation.significance.intervals`)."""
        return intervals(self.ranks, metric, self._ties, seed=self.seed)

    def table(self) -> pd.DataFrame:
        """Return one row for each strategy.

        Its columns are the metrics, ``tied`` (the share of queries whose target is tied) and
        ``low`` and ``high``, between which the MRR lies however ties are broken.
        """
        metrics = self.metrics()
        table = metrics.pivot(index="strategy", columns="metric", values="value")
        rows = metrics[metrics["metric"] == "mrr"].set_index("strategy")
        table = table[list(METRICS)].rename_axis(columns=None)
        table[["tied", "low", "high"]] = rows[["tied", "pessimistic", "optimistic"]]
        return table.loc[list(self.ranks.strategies)]

    def to_json(self, with_intervals: bool = False) -> dict[str, Any]:
        """Return JSON-compatible values for each strategy: metrics, brackets, tie mass, choices."""
        result: dict[str, Any] = {name: {} for name in self.ranks.strategies}
        for row in self.metrics().to_dict("records"):
            entry, metric = result[row["strategy"]], row["metric"]
            entry[metric] = row["value"]
            entry.setdefault("bracket", {})[metric] = [row["pessimistic"], row["optimistic"]]
            entry["tied"] = row["tied"]
        if with_intervals:
            for row in self.intervals().to_dict("records"):
                result[row["strategy"]]["interval"] = {"mrr": [row["low"], row["high"]]}
        for one in self.strategies:
            if chosen := (one.report or {}).get("relations"):
                result[one.name]["chosen"] = chosen
        return result


def evaluate(
    engine: Engine,
    strategies: Sequence[str | Strategy] = PAPER,
    split: str = "test",
    *,
    top_h: Sequence[int] = TOP_H,
    top_x: int = 200,
    ties: str = "expected",
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    watch: Stopwatch | None = None,
    quiet: bool = True,
) -> Evaluation:
    """Evaluate strategies on a split, with one pass over it.

    Parameters
    ----------
    engine : Engine
    strategies : sequence of str or Strategy
        See `kgagg.strategies.registry.strategies`.
    split : str
        ``"test"`` or ``"valid"``.
    top_h : sequence of int
        What ``noisy-or-top-h*`` chooses from: 1 means MAX+, 0 all rules.
    top_x : int
        See `Engine.apply`.
    ties : str
        See `kgagg.ranking.ties.values`; or ``"frequency"``, PyClause's order: of candidates with
        equal scores the one that is more frequent in train comes first; or ``"anyburl"``, its
        order: that of a hash set of Java.
    seed : int
        For random ties, and for fits.
    threads, memory : int, optional
        See `Engine.apply`.
    watch : Stopwatch, optional
        Takes the seconds of ``compile``, ``fit``, ``apply`` and ``aggregate``.
    quiet : bool
        Show no progress.

    Raises
    ------
    InputError
        If there is no such strategy or tie policy, or a split that is needed is empty.
    """
    order = _tie_order(engine, ties)
    graph, watch = engine.graph, watch or Stopwatch()
    if not len(graph.split(split)):
        raise InputError(f"the {split} split is empty: split the graph with `kgagg split`")
    options: dict[str, Any] = {
        "top_x": top_x,
        "threads": threads,
        "memory": memory,
        "quiet": quiet,
    }
    wanted = find_strategies(strategies, engine.names, top_h)
    with watch.stage("compile"):
        _warm_up(engine, [one for one in wanted if one.fitted])
    with watch.stage("fit"):
        ready = fit_all(wanted, Fitting(engine, seed=seed, order=order, **options))
    ranks = rank_split(engine, split, ready, order=order, watch=watch, **options)
    return Evaluation(ranks, tuple(ready), ties, seed)


def _tie_order(engine: Engine, ties: str) -> TieOrder | None:
    """Return the order that breaks ties, None for policies that leave them."""
    if ties not in TIE_POLICIES:
        expected = f"expected one of {', '.join(TIE_POLICIES)}{nearest(ties, TIE_POLICIES)}"
        raise InputError(f"{ties}: no such tie policy, {expected}")
    if ties == "frequency":
        return frequency_order(engine.graph.train, len(engine.graph.entities))
    return java_order(engine.graph.entities) if ties == "anyburl" else None


def _warm_up(engine: Engine, strategies: Sequence[Strategy]) -> None:
    """Have every kernel compiled, or read from the cache, by a dummy query."""
    graph = engine.graph
    triples = graph.train[:1]
    chunks = engine.apply(
        Queries.from_triples(triples), graph.adjacency, best=best_rules(strategies), threads=1
    )
    rank_all(chunks, strategies, triples, graph.entities, graph.relations)


def ready_strategy(
    engine: Engine, name: str | Strategy, *, top_h: Sequence[int] = TOP_H, **options: Any
) -> Strategy:
    """Return one strategy, fitted on valid if it needs a fit.

    Parameters
    ----------
    engine : Engine
    name : str or Strategy
        See `kgagg.strategies.registry.strategies`, but for ``all``.
    top_h : sequence of int
        See `evaluate`.
    **options
        See `Fitting`.
    """
    if name == ALL:
        raise InputError("all: expected one strategy")
    wanted = find_strategies([name], engine.names, top_h)
    return fit_all(wanted, Fitting(engine, **options))[0]
