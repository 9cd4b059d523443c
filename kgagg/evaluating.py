"""Evaluate strategies on a split: apply the rules once, aggregate, tune, rank."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgagg.aggregation import Strategy, best_rules, registered, strategy
from kgagg.aggregation.fitting import fit, fitted_names, load
from kgagg.aggregation.ranking import frequency_order, java_order, rank_all, rank_split
from kgagg.aggregation.tuning import TOP_H, Tuned, top_h, tune, with_unseen
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Queries
from kgagg.errors import InputError, nearest
from kgagg.evaluation import METRICS, TIES, Ranks, intervals
from kgagg.evaluation import evaluate as metrics_of
from kgagg.timing import Stopwatch

if TYPE_CHECKING:
    import pandas as pd

# the rows of the paper's table, and what is tuned on valid
PAPER = ("max", "max+", "noisy-or", "noisy-or-top-5", "noisy-or-top-h*")
TUNED_H, TUNED_ALL = "noisy-or-top-h*", "tuned"
# ties are left, or broken by an order while ranking
TIE_POLICIES = (*TIES, "frequency", "anyburl")


@dataclass(frozen=True)
class Plan:
    """What has to be ranked for some strategies.

    Attributes
    ----------
    names : tuple of str
        The strategies that were asked for.
    choices : dict of str to list of Strategy
        For each tuned one, what it chooses from.
    fitted : tuple of str
        Those that are to be fitted (see `kgagg.aggregation.fitting`).
    strategies : list of Strategy
        What is ranked on the split besides: the others, and all choices; each once.
    """

    names: tuple[str, ...]
    choices: Mapping[str, Sequence[Strategy]]
    fitted: tuple[str, ...]
    strategies: Sequence[Strategy]

    @classmethod
    def of(
        cls, strategies: Sequence[str | Strategy], engine: Engine, h: Sequence[int] = TOP_H
    ) -> Plan:
        """Resolve the names of strategies.

        Parameters
        ----------
        strategies : sequence of str or Strategy
            Besides the names of the registry: ``noisy-or-top-h*``, which chooses from `top_h`;
            ``tuned``, which chooses from the same and noisy-or, each with several numbers of
            unseen examples; those of `fitted_names`; ``all``, which stands for every strategy
            but those that read all rules of a candidate and those that are fitted; and files that
            `kgagg fit` (``.kgagg``) and `kgagg tune` (``.json``) wrote.
        engine : Engine
        h : sequence of int
            See `top_h`.
        """
        asked = [_opened(one, engine) for one in strategies]
        ready = {one.name: one for one in asked if isinstance(one, Strategy)}
        expanded = ([one.name] if isinstance(one, Strategy) else _expand(one, h) for one in asked)
        names = tuple(dict.fromkeys(itertools.chain.from_iterable(expanded)))
        choices: dict[str, Sequence[Strategy]] = {}
        if TUNED_H in names and TUNED_H not in ready:
            choices[TUNED_H] = top_h(h)
        if TUNED_ALL in names and TUNED_ALL not in ready:
            by_value = engine.semantics.levels_by_value
            choices[TUNED_ALL] = with_unseen(top_h([*h, 0]), engine.rules, by_value)
        fitted = tuple(name for name in names if name in fitted_names() and name not in ready)
        others = (name for name in names if name not in choices and name not in fitted)
        plain = [ready.get(name) or _plain(name) for name in others]
        each = {one.name: one for one in itertools.chain(plain, *choices.values())}
        return cls(names, choices, fitted, list(each.values()))


def _opened(one: str | Strategy, engine: Engine) -> str | Strategy:
    """Read a strategy from a file, if that is what is meant."""
    if isinstance(one, str) and one.endswith(".kgagg"):
        return load(one, engine.rules.digest)
    if isinstance(one, str) and one.endswith(".json"):
        return Tuned.load(one, engine.graph.relations)
    return one


def _expand(name: str, h: Sequence[int]) -> Sequence[str]:
    if name != "all":
        return [name]
    fixed = [name for name in registered() if not name.endswith("-h") and strategy(name).best]
    return [*fixed, *(one.name for one in top_h(h)), TUNED_H]


def _plain(name: str) -> Strategy:
    try:
        return strategy(name)
    except InputError:
        known = ("all", *registered(), *fitted_names(), TUNED_H, TUNED_ALL)
        expected = f"expected one of {', '.join(known)}{nearest(name, known)}"
        raise InputError(f"unknown strategy {name!r}, {expected}") from None


@dataclass(frozen=True)
class Evaluation:
    """Strategies, evaluated on a split.

    Attributes
    ----------
    ranks : Ranks
        Of each strategy that was asked for.
    tuned : dict of str to Tuned
        What was chosen on valid.
    ties : str
        See `evaluate`.
    seed : int
    """

    ranks: Ranks
    tuned: Mapping[str, Tuned]
    ties: str
    seed: int

    @property
    def _ties(self) -> str:
        # an order has broken all ties already
        return self.ties if self.ties in TIES else "expected"

    def metrics(self) -> pd.DataFrame:
        """Return the metrics of each strategy (see `kgagg.evaluation.evaluate`)."""
        return metrics_of(self.ranks, METRICS, self._ties, self.seed)

    def intervals(self, metric: str = "mrr") -> pd.DataFrame:
        """Return bootstrap confidence intervals (see `kgagg.evaluation.intervals`)."""
        return intervals(self.ranks, metric, self._ties, seed=self.seed)

    def table(self) -> pd.DataFrame:
        """Return one row for each strategy.

        Its columns are the metrics, ``tied`` (the share of queries whose target is tied) and
        ``low`` and ``high``, between which the MRR lies whatever is done about ties.
        """
        metrics = self.metrics()
        table = metrics.pivot(index="strategy", columns="metric", values="value")
        rows = metrics[metrics["metric"] == "mrr"].set_index("strategy")
        table = table[list(METRICS)].rename_axis(columns=None)
        table[["tied", "low", "high"]] = rows[["tied", "pessimistic", "optimistic"]]
        return table.loc[list(self.ranks.strategies)]

    def to_json(self, with_intervals: bool = False) -> dict[str, Any]:
        """Return what JSON can hold for each strategy: metrics, brackets, tie mass, choices."""
        result: dict[str, Any] = {name: {} for name in self.ranks.strategies}
        for row in self.metrics().to_dict("records"):
            entry, metric = result[row["strategy"]], row["metric"]
            entry[metric] = row["value"]
            entry.setdefault("bracket", {})[metric] = [row["pessimistic"], row["optimistic"]]
            entry["tied"] = row["tied"]
        if with_intervals:
            for row in self.intervals().to_dict("records"):
                result[row["strategy"]]["interval"] = {"mrr": [row["low"], row["high"]]}
        for name, tuned in self.tuned.items():
            result[name]["chosen"] = tuned.to_json(self.ranks.relations)
        return result


def evaluate(
    engine: Engine,
    strategies: Sequence[str | Strategy] = PAPER,
    split: str = "test",
    *,
    h: Sequence[int] = TOP_H,
    top_x: int = 200,
    ties: str = "expected",
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    watch: Stopwatch | None = None,
    quiet: bool = True,
) -> Evaluation:
    """Evaluate strategies on a split, with one pass over it, and one over valid to tune.

    Parameters
    ----------
    engine : Engine
    strategies : sequence of str or Strategy
        See `Plan.of`.
    split : str
        ``"test"`` or ``"valid"``.
    h : sequence of int
        What ``noisy-or-top-h*`` chooses from: 1 means MAX+, 0 all rules.
    top_x : int
        See `Engine.apply`.
    ties : str
        See `kgagg.evaluation.values`; or ``"frequency"``, PyClause's order: of candidates with
        equal scores the one that is more frequent in train comes first; or ``"anyburl"``, its
        order: that of a hash set of Java.
    seed : int
        For random ties.
    threads, memory : int, optional
        See `Engine.apply`.
    watch : Stopwatch, optional
        Takes the seconds of ``compile``, ``fit``, ``apply`` and ``aggregate``.
    quiet : bool
        Show no progress.

    Raises
    ------
    InputError
        If there is no such strategy or tie policy, or the split is empty.
    """
    if ties not in TIE_POLICIES:
        expected = f"expected one of {', '.join(TIE_POLICIES)}{nearest(ties, TIE_POLICIES)}"
        raise InputError(f"{ties}: no such tie policy, {expected}")
    graph, watch = engine.graph, watch or Stopwatch()
    plan = Plan.of(strategies, engine, h)
    for name in {split, "valid"} if plan.choices or plan.fitted else {split}:
        if not len(graph.split(name)):
            raise InputError(f"the {name} split is empty, and {_use(name, split)}")
    order = None
    if ties == "frequency":
        order = frequency_order(graph.train, len(graph.entities))
    elif ties == "anyburl":
        order = java_order(graph.entities)
    with watch.stage("compile"):
        _warm_up(engine, plan.strategies)

    def ranked(name: str, chosen: Sequence[Strategy]) -> Ranks:
        return rank_split(
            engine,
            name,
            chosen,
            top_x=top_x,
            threads=threads,
            memory=memory,
            order=order,
            watch=watch,
            quiet=quiet,
        )

    options: dict[str, Any] = {"threads": threads, "memory": memory, "quiet": quiet}
    with watch.stage("fit"):
        fitted = [fit(name, engine, top_x=top_x, seed=seed, **options) for name in plan.fitted]
    ranks = ranked(split, [*plan.strategies, *fitted])
    valid = ranks
    if plan.choices and split != "valid":
        every = {one.name: one for one in itertools.chain(*plan.choices.values())}
        valid = ranked("valid", list(every.values()))
    with watch.stage("aggregate"):
        tuned = {name: tune(name, choices, valid) for name, choices in plan.choices.items()}
        ranks = ranks.joined(*(one.rank(ranks) for one in tuned.values())).only(plan.names)
    return Evaluation(ranks, tuned, ties, seed)


def _use(name: str, split: str) -> str:
    return "the strategies are evaluated on it" if name == split else "tuning needs it"


def _warm_up(engine: Engine, strategies: Sequence[Strategy]) -> None:
    """Have every kernel compiled, or read from the cache, by a query of no interest."""
    graph = engine.graph
    triples = graph.train[:1]
    chunks = engine.apply(
        Queries.from_triples(triples), graph.adjacency, best=best_rules(strategies), threads=1
    )
    rank_all(chunks, strategies, triples, graph.entities, graph.relations)


def ready_strategy(
    engine: Engine,
    name: str,
    *,
    h: Sequence[int] = TOP_H,
    top_x: int = 200,
    threads: int | None = None,
    memory: int | None = None,
    quiet: bool = True,
) -> Strategy:
    """Return the strategy with this name, tuned on valid if it is one that is tuned.

    Parameters
    ----------
    engine, h, top_x, threads, memory, quiet
        See `evaluate`.
    name : str
        See `Plan.of`, but for ``all``.
    """
    plan = Plan.of([name], engine, h)
    if name == "all":
        raise InputError("all: expected one strategy")
    if plan.fitted:
        return fit(name, engine, top_x=top_x, threads=threads, memory=memory, quiet=quiet)
    if not plan.choices:
        return plan.strategies[0]
    return evaluate(
        engine,
        [name],
        "valid",
        h=h,
        top_x=top_x,
        threads=threads,
        memory=memory,
        quiet=quiet,
    ).tuned[name]
