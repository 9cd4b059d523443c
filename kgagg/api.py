"""What `import kgagg` offers: graphs, rules, and what follows from them, as tables.

Wherever a function takes rules, it also takes rule files, which are read with the weights and
thresholds of the semantics. A `RuleSet` is used as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import DIRECTIONS, Queries
from kgagg.errors import InputError, at_least
from kgagg.evaluation.run import Evaluation, ready_strategy
from kgagg.evaluation.run import evaluate as evaluate_strategies
from kgagg.explanation.explanation import Explanation, find_fact
from kgagg.explanation.explanation import explain as explain_fact
from kgagg.graph.graph import Graph
from kgagg.graph.known import all_facts, known_before
from kgagg.prediction.answers import COLUMNS, answer, batches, numbers_of
from kgagg.prediction.calibration import Calibration, answered
from kgagg.prediction.completion import chosen_relations
from kgagg.prediction.completion import predict as predict_facts
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.base import TOP_H
from kgagg.strategies.registry import DEFAULT, PAPER

Path = str | os.PathLike[str]
Rules = RuleSet | Path | Sequence[Path]
# head, relation, tail by name; None or "?" for what is missing
Patterns = Iterable[tuple[str | None, str, str | None]] | pd.DataFrame


class Model:
    """A graph, rules and a strategy, in the manner of scikit-learn.

    Parameters
    ----------
    strategy : str
        ``"max"``, ``"max+"``, ``"noisy-or"``, ``"noisy-or-top-5"`` (any number), ``"mean"``,
        ``"log-odds"``; ``"noisy-or-top-h*"``, ``"tuned"``, ``"safran"``, ``"sparse"``,
        ``"factors"`` or ``"learned"``, which are fitted on valid; or a file of `kgagg fit`.
    semantics : str
        ``"anyburl"`` or ``"pyclause"``: what a rule predicts, weights and thresholds.
    top_x : int
        The pool of candidates of a query is closed by the rule that reaches this many; 0 for all.
    top_h : sequence of int
        What ``"noisy-or-top-h*"`` chooses from: 1 means MAX+, 0 all rules.
    threads : int, optional
        All processors by default; changes no result.

    Attributes
    ----------
    engine_ : Engine
        Made by `fit`.
    strategy_ : Strategy
        Fitted, if it needs a fit.
    """

    def __init__(
        self,
        strategy: str = DEFAULT,
        *,
        semantics: str = "anyburl",
        top_x: int = 200,
        top_h: Sequence[int] = TOP_H,
        threads: int | None = None,
    ) -> None:
        at_least("top_x", top_x, 0)
        at_least("threads", threads, 1)
        self.strategy, self.semantics = strategy, semantics
        self.top_x, self.top_h, self.threads = top_x, top_h, threads

    def fit(self, graph: Graph, rules: Rules) -> Model:
        """Index the rules, and fit the strategy on the valid split if it needs a fit."""
        self.engine_ = Engine.open(graph, rules, self.semantics, threads=self.threads)
        self.strategy_ = ready_strategy(
            self.engine_, self.strategy, top_h=self.top_h, top_x=self.top_x, threads=self.threads
        )
        return self

    def rank(
        self, queries: Patterns, top_k: int = 100, *, show_known: bool = False
    ) -> pd.DataFrame:
        """Return the best answers to queries (see `kgagg.rank`)."""
        graph = self.engine_.graph
        answers = answer(
            self.engine_,
            Queries.from_patterns(_numbers(graph, queries)),
            self.strategy_,
            top_k=top_k,
            top_x=self.top_x,
            show_known=show_known,
            threads=self.threads,
        )
        parts = [pd.DataFrame(dict(zip(COLUMNS, part, strict=True))) for part in batches(answers)]
        table = pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS, dtype=np.int64)
        entities = np.array(graph.entities.names(), object)
        names = (
            entities,
            np.array(graph.relations.names(), object),
            entities,
            np.array(DIRECTIONS),
        )
        for column, kind in zip(COLUMNS, names, strict=False):
            table[column] = kind[table[column].to_numpy(np.int64)]
        table["known"] = table["known"].astype(bool)
        return table.reset_index(drop=True)

    def predict(
        self,
        relations: Sequence[str] | None = None,
        top: int = 1000,
        *,
        min_score: float = -np.inf,
    ) -> pd.DataFrame:
        """Return the best new facts (see `kgagg.predict`)."""
        graph = self.engine_.graph
        options: dict[str, Any] = {"top_x": self.top_x, "threads": self.threads}
        calibration = None
        if len(graph.valid):
            counts = answered(self.engine_, self.strategy_, "valid", **options)
            calibration = Calibration.fit(counts)
        return predict_facts(
            self.engine_,
            self.strategy_,
            chosen_relations(graph, relations),
            top=top,
            min_score=min_score,
            calibration=calibration,
            **options,
        ).to_pandas()

    def evaluate(self, split: str = "test", *, ties: str = "expected") -> pd.DataFrame:
        """Evaluate the strategy on a split, filtered, in both directions (see `kgagg.evaluate`)."""
        options: dict[str, Any] = {"top_x": self.top_x, "threads": self.threads, "ties": ties}
        found: Evaluation = evaluate_strategies(self.engine_, [self.strategy_], split, **options)
        return found.table()

    def explain(self, head: str, relation: str, tail: str, top: int = 10) -> Explanation:
        """Explain a fact (see `kgagg.explain`)."""
        fact = find_fact(self.engine_.graph, head, relation, tail)
        return explain_fact(self.engine_, fact, self.strategy_, top=top)


def apply(
    graph: Graph,
    rules: Rules,
    queries: str | Patterns = "test",
    *,
    best: int = 10,
    top_x: int = 200,
    semantics: str = "anyburl",
    threads: int | None = None,
) -> Firings:
    """Apply rules to queries: the candidates of each, and the rules that predict them.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet, path or sequence of paths
    queries : str or table
        A split, for which the facts of the splits before it are filtered; or heads, relations and
        tails by name, with None for what is missing, for which the facts of all splits are.
    best : int
        How many rules to keep for each candidate; 0 for all.
    top_x, semantics, threads
        See `Model`.
    """
    engine = Engine.open(graph, rules, semantics, threads=threads)
    if isinstance(queries, str):
        wanted = Queries.from_triples(graph.split(queries))
        known = known_before(graph, queries)
    else:
        wanted, known = Queries.from_patterns(_numbers(graph, queries)), all_facts(graph)
    chunks = list(engine.apply(wanted, known, top_x=top_x, best=best, threads=threads))
    if not chunks:
        raise InputError("no queries")
    return Firings.concatenate(chunks)


def evaluate(
    graph: Graph,
    rules: Rules,
    strategies: Sequence[str] = PAPER,
    split: str = "test",
    *,
    ties: str = "expected",
    top_x: int = 200,
    top_h: Sequence[int] = TOP_H,
    semantics: str = "anyburl",
    threads: int | None = None,
) -> pd.DataFrame:
    """Evaluate strategies on a split, filtered, in both directions.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet, path or sequence of paths
    strategies : sequence of str
        See `Model`, or ``"all"``; by default the paper's.
    split : str
        ``"test"`` or ``"valid"``.
    ties : str
        ``"expected"``, ``"random"``, ``"realistic"``, ``"optimistic"``, ``"pessimistic"``,
        ``"frequency"`` (PyClause's order) or ``"anyburl"`` (its order).
    top_x, top_h, semantics, threads
        See `Model`.

    Returns
    -------
    DataFrame
        By strategy: ``mrr``, ``hits@1``, ``hits@3``, ``hits@10``; ``tied``, the share of queries
        whose target is tied; ``low`` and ``high``, the bracket of the MRR over all ways to break
        ties.
    """
    engine = Engine.open(graph, rules, semantics, threads=threads)
    options: dict[str, Any] = {"top_h": top_h, "top_x": top_x, "ties": ties, "threads": threads}
    return evaluate_strategies(engine, strategies, split, **options).table()


def rank(
    graph: Graph,
    rules: Rules,
    queries: Patterns,
    strategy: str = DEFAULT,
    top_k: int = 100,
    *,
    show_known: bool = False,
    **settings: Any,
) -> pd.DataFrame:
    """Return the best answers to queries.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet, path or sequence of paths
    queries : table
        Heads, relations and tails by name, with None for what is missing; a complete triple stands
        for both of its queries.
    strategy : str
        See `Model`.
    top_k : int
        The most answers to a query; 0 for all.
    show_known : bool
        Known facts are answers too; otherwise the facts of all splits are filtered.
    **settings
        See `Model`.

    Returns
    -------
    DataFrame
        A row for each answer: ``head``, ``relation``, ``tail``, ``direction`` ("tail" or "head":
        what was missing), ``rank`` from 1, ``score``, ``known``.
    """
    return Model(strategy, **settings).fit(graph, rules).rank(queries, top_k, show_known=show_known)


def predict(
    graph: Graph,
    rules: Rules,
    relations: Sequence[str] | None = None,
    strategy: str = DEFAULT,
    top: int = 1000,
    *,
    min_score: float = -np.inf,
    **settings: Any,
) -> pd.DataFrame:
    """Complete a graph: the facts with the highest scores that are in no split.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet, path or sequence of paths
    relations : sequence of str, optional
        Whose facts; all relations by default.
    strategy : str
        See `Model`.
    top : int
        How many facts; 0 for all.
    min_score : float
        Only facts with at least this score.
    **settings
        See `Model`.

    Returns
    -------
    DataFrame
        A row for each fact, best first: ``head``, ``relation``, ``tail``, ``score``,
        ``probability`` (calibrated on valid; NaN if that is empty), ``rules`` (how many predict
        it), ``rule`` (the best of them).
    """
    return (
        Model(strategy, **settings).fit(graph, rules).predict(relations, top, min_score=min_score)
    )


def explain(
    graph: Graph,
    rules: Rules,
    head: str,
    relation: str,
    tail: str,
    strategy: str = DEFAULT,
    top: int = 10,
    **settings: Any,
) -> Explanation:
    """Explain a fact: the rules that predict it, their groundings, and its rank.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet, path or sequence of paths
    head, relation, tail : str
    strategy : str
        See `Model`.
    top : int
        How many rules to list; 0 for all.
    **settings
        See `Model`.

    Returns
    -------
    Explanation
        Prints as text; `to_json` gives everything by name.
    """
    return Model(strategy, **settings).fit(graph, rules).explain(head, relation, tail, top)


def _numbers(graph: Graph, queries: Patterns) -> np.ndarray:
    """Return the numbers of names, `MISSING` where there is None: int32[n, 3]."""
    if isinstance(queries, pd.DataFrame):
        table = queries[["head", "relation", "tail"]].astype(object)
        queries = table.where(table.notna(), None).itertuples(index=False, name=None)
    rows = [numbers_of(graph, *query) for query in queries]
    return np.array(rows, np.int32).reshape(-1, 3)
