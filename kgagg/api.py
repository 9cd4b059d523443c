"""What `import kgagg` offers: graphs, rules, and what follows from them, as tables.

Wherever rules are asked for, files will do: they are read with the weights and thresholds of the
semantics. A `RuleSet` is taken as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgagg.aggregation.ranking import known_before, rank_split
from kgagg.aggregation.tuning import TOP_H
from kgagg.answering import COLUMNS, all_facts, answer, batches, make_queries, numbers_of
from kgagg.calibrating import Calibration, answered
from kgagg.engine.apply import Engine
from kgagg.engine.firings import Firings, Queries
from kgagg.engine.semantics import semantics as semantics_of
from kgagg.errors import InputError
from kgagg.evaluating import PAPER, ready_strategy
from kgagg.evaluating import evaluate as evaluate_strategies
from kgagg.evaluation import DIRECTIONS, values
from kgagg.explaining import Explanation, find_fact
from kgagg.explaining import explain as explain_fact
from kgagg.graph import Graph
from kgagg.predicting import chosen_relations
from kgagg.predicting import predict as predict_facts
from kgagg.rules import Confidence, RuleSet

Path = str | os.PathLike[str]
Rules = RuleSet | Path | Sequence[Path]
# head, relation, tail by name; None or "?" for what is asked
Asked = Iterable[tuple[str | None, str, str | None]] | pd.DataFrame


class Model:
    """Rules on a graph with a strategy, in the manner of scikit-learn.

    Parameters
    ----------
    strategy : str
        ``"max"``, ``"max+"``, ``"noisy-or"``, ``"noisy-or-top-5"`` (any number), ``"mean"``,
        ``"log-odds"``; ``"noisy-or-top-h*"`` or ``"tuned"``, which are tuned on valid;
        ``"learned"``, ``"safran"`` or ``"sparse"``, which are fitted on valid (sparse on train);
        or a file of `kgagg fit` or `kgagg tune`.
    semantics : str
        ``"anyburl"`` or ``"pyclause"``: what a rule predicts, weights and thresholds.
    top_x : int
        Candidates of a query: those up to the rule with which so many are reached; 0 for all.
    top_h : sequence of int
        What ``"noisy-or-top-h*"`` chooses from: 1 means MAX+, 0 all rules.
    threads : int, optional
        All processors by default; changes no result.

    Attributes
    ----------
    engine_ : Engine
        Made by `fit`.
    strategy_ : Strategy
        Tuned or fitted by `fit`, if it is one that takes that.
    """

    def __init__(
        self,
        strategy: str = "noisy-or-top-h*",
        *,
        semantics: str = "anyburl",
        top_x: int = 200,
        top_h: Sequence[int] = TOP_H,
        threads: int | None = None,
    ) -> None:
        self.strategy, self.semantics = strategy, semantics
        self.top_x, self.top_h, self.threads = top_x, top_h, threads

    def fit(self, graph: Graph, rules: Rules) -> Model:
        """Index the rules, and tune the strategy on the valid split if it takes that."""
        self.engine_ = _engine(graph, rules, self.semantics)
        self.strategy_ = ready_strategy(
            self.engine_, self.strategy, h=self.top_h, top_x=self.top_x, threads=self.threads
        )
        return self

    def predict(self, queries: Asked, top_k: int = 10, *, show_known: bool = False) -> pd.DataFrame:
        """Return the best answers to queries (see `rank`)."""
        graph = self.engine_.graph
        answers = answer(
            self.engine_,
            make_queries(_numbers(graph, queries)),
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

    def complete(
        self, relations: Sequence[str] | None = None, top: int = 1000, *, least: float = -np.inf
    ) -> pd.DataFrame:
        """Return the best new facts (see `predict`)."""
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
            least=least,
            calibration=calibration,
            **options,
        ).to_pandas()

    def score(self, split: str = "test") -> float:
        """Return the expected filtered MRR on a split."""
        options: dict[str, Any] = {"top_x": self.top_x, "threads": self.threads}
        return float(values(rank_split(self.engine_, split, [self.strategy_], **options)).mean())

    def explain(self, head: str, relation: str, tail: str, top: int = 10) -> Explanation:
        """Explain a fact (see `explain`)."""
        fact = find_fact(self.engine_.graph, head, relation, tail)
        return explain_fact(self.engine_, fact, self.strategy_, top=top)


def apply(
    graph: Graph,
    rules: Rules,
    queries: str | Asked = "test",
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
        A split, whose known facts are those of the splits before it; or heads, relations and tails
        by name, with None for what is asked, whose known facts are those of all splits. Known facts
        are no candidates.
    best : int
        How many rules to keep for each candidate; 0 for all.
    top_x, semantics, threads
        See `Model`.
    """
    engine = _engine(graph, rules, semantics)
    if isinstance(queries, str):
        asked = Queries.from_triples(graph.split(queries))
        known = known_before(graph, queries)
    else:
        asked, known = make_queries(_numbers(graph, queries)), all_facts(graph)
    chunks = list(engine.apply(asked, known, top_x=top_x, best=best, threads=threads))
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
    engine = _engine(graph, rules, semantics)
    options: dict[str, Any] = {"h": top_h, "top_x": top_x, "ties": ties, "threads": threads}
    return evaluate_strategies(engine, strategies, split, **options).table()


def rank(
    graph: Graph,
    rules: Rules,
    queries: Asked,
    strategy: str = "noisy-or-top-5",
    top_k: int = 10,
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
        Heads, relations and tails by name, with None for what is asked; a whole triple asks for
        both.
    strategy : str
        See `Model`.
    top_k : int
        How many answers a query has at most; 0 for all.
    show_known : bool
        Known facts are answers too; otherwise those of all splits are left out.
    **settings
        See `Model`.

    Returns
    -------
    DataFrame
        A row for each answer: ``head``, ``relation``, ``tail``, ``asked`` ("tail" or "head"),
        ``place`` from 1, ``value``, ``known``.
    """
    return (
        Model(strategy, **settings).fit(graph, rules).predict(queries, top_k, show_known=show_known)
    )


def predict(
    graph: Graph,
    rules: Rules,
    relations: Sequence[str] | None = None,
    strategy: str = "noisy-or-top-5",
    top: int = 1000,
    *,
    least: float = -np.inf,
    **settings: Any,
) -> pd.DataFrame:
    """Complete a graph: the facts with the greatest values that are in no split.

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
    least : float
        Only facts with at least this value.
    **settings
        See `Model`.

    Returns
    -------
    DataFrame
        A row for each fact, best first: ``head``, ``relation``, ``tail``, ``value``,
        ``probability`` (calibrated on valid; NaN if that is empty), ``rules`` (how many predict
        it), ``rule`` (the best of them).
    """
    return Model(strategy, **settings).fit(graph, rules).complete(relations, top, least=least)


def explain(
    graph: Graph,
    rules: Rules,
    head: str,
    relation: str,
    tail: str,
    strategy: str = "noisy-or-top-5",
    top: int = 10,
    **settings: Any,
) -> Explanation:
    """Explain a fact: the rules that predict it, the facts that make them fire, and its rank.

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


def _engine(graph: Graph, rules: Rules, semantics: str) -> Engine:
    meaning = semantics_of(semantics)
    names = (graph.entities, graph.relations)
    if isinstance(rules, RuleSet):
        rules = rules.translated(*names)
    else:
        rules = RuleSet.read(rules, names, Confidence.preset(meaning.name))
    return Engine(graph, rules, meaning)


def _numbers(graph: Graph, queries: Asked) -> np.ndarray:
    """Return the numbers of names, `ASKED` for what is asked: int32[n, 3]."""
    if isinstance(queries, pd.DataFrame):
        table = queries[["head", "relation", "tail"]].astype(object)
        queries = table.where(table.notna(), None).itertuples(index=False, name=None)
    rows = [numbers_of(graph, *query) for query in queries]
    return np.array(rows, np.int32).reshape(-1, 3)
