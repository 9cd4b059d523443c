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
from kgagg.engine.queries import MISSING, Queries
from kgagg.errors import InputError, at_least
from kgagg.evaluation.run import Evaluation, ready_strategy
from kgagg.evaluation.run import evaluate as evaluate_strategies
from kgagg.explanation.explanation import Explanation, find_fact
from kgagg.explanation.explanation import explain as explain_fact
from kgagg.graph.graph import Graph
from kgagg.graph.known import all_facts, known_before
from kgagg.prediction.answers import numbers_of
from kgagg.prediction.calibration import Calibration, answered
from kgagg.prediction.completion import chosen_relations
from kgagg.prediction.completion import predict as predict_facts
from kgagg.prediction.relations import answer_patterns, likely_relations
from kgagg.prediction.restriction import allowed_entities
from kgagg.prediction.scoring import Scored, Thresholds, classification
from kgagg.prediction.scoring import score_triples as score_given
from kgagg.prediction.writers import answer_tables
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.base import TOP_H
from kgagg.strategies.registry import DEFAULT, PAPER

Path = str | os.PathLike[str]
Rules = RuleSet | Path | Sequence[Path]
# head, relation, tail by name; None or "?" for what is missing
Patterns = Iterable[tuple[str | None, str | None, str | None]] | pd.DataFrame


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
        self,
        queries: Patterns,
        top_k: int = 100,
        *,
        heads: Sequence[str] | None = None,
        tails: Sequence[str] | None = None,
        show_known: bool = False,
    ) -> pd.DataFrame:
        """Return the best answers to queries (see `kgagg.rank`)."""
        graph = self.engine_.graph
        answers = answer_patterns(
            self.engine_,
            _numbers(graph, queries),
            self.strategy_,
            top_k=top_k,
            top_x=self.top_x,
            allowed=allowed_entities(graph, heads, tails),
            show_known=show_known,
            threads=self.threads,
        )
        return pd.concat(answer_tables(answers, graph), ignore_index=True)

    def score_triples(
        self,
        triples: Patterns,
        *,
        heads: Sequence[str] | None = None,
        tails: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return score, probability and ranks of triples (see `kgagg.score_triples`)."""
        scored = self._scored(triples, heads, tails)
        return scored.to_pandas(self.engine_.graph)

    def classify(
        self, triples: Patterns, negatives: Patterns, valid_negatives: Patterns | None = None
    ) -> dict[str, float]:
        """Tell true from false triples.

        Parameters
        ----------
        triples, negatives : table
            Heads, relations and tails by name: true ones, and false ones.
        valid_negatives : table, optional
            False triples with which a threshold is found for each relation, against the valid
            split. Without them, a triple is true if its probability is at least one half.

        Returns
        -------
        dict of str to float
            ``accuracy``, ``f1``, ``auc`` (the area under the ROC curve).
        """
        thresholds = None
        if valid_negatives is not None:
            valid = score_given(
                self.engine_, self.engine_.graph.valid, self.strategy_, threads=self.threads
            )
            thresholds = Thresholds.fit(valid, self._scored(valid_negatives))
        return classification(self._scored(triples), self._scored(negatives), thresholds)

    def _scored(
        self,
        triples: Patterns,
        heads: Sequence[str] | None = None,
        tails: Sequence[str] | None = None,
    ) -> Scored:
        graph = self.engine_.graph
        numbers = _numbers(graph, triples)
        if (numbers == MISSING).any():
            raise InputError("expected triples with head, relation and tail")
        return score_given(
            self.engine_,
            numbers,
            self.strategy_,
            calibration=self._calibration,
            allowed=allowed_entities(graph, heads, tails),
            threads=self.threads,
        )

    @property
    def _calibration(self) -> Calibration | None:
        """From scores to probabilities, on valid; None if that is empty."""
        if not len(self.engine_.graph.valid):
            return None
        options: dict[str, Any] = {"top_x": self.top_x, "threads": self.threads}
        return Calibration.fit(answered(self.engine_, self.strategy_, "valid", **options))

    def predict(
        self,
        relations: Sequence[str] | None = None,
        top: int = 1000,
        *,
        min_score: float = -np.inf,
        heads: Sequence[str] | None = None,
        tails: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return the best new facts (see `kgagg.predict`)."""
        graph = self.engine_.graph
        return predict_facts(
            self.engine_,
            self.strategy_,
            chosen_relations(graph, relations),
            top=top,
            min_score=min_score,
            calibration=self._calibration,
            top_x=self.top_x,
            allowed=allowed_entities(graph, heads, tails),
            threads=self.threads,
        ).to_pandas()

    def evaluate(self, split: str = "test", *, ties: str = "expected") -> pd.DataFrame:
        """Evaluate the strategy on a split, filtered, in both directions (see `kgagg.evaluate`)."""
        options: dict[str, Any] = {"top_x": self.top_x, "threads": self.threads, "ties": ties}
        found: Evaluation = evaluate_strategies(self.engine_, [self.strategy_], split, **options)
        return found.table()

    def explain(self, head: str, relation: str | None, tail: str, top: int = 10) -> Explanation:
        """Explain a fact (see `kgagg.explain`)."""
        if relation is None or relation == "?":
            relation = likely_relations(self.engine_, head, tail, self.strategy_, 1)[0][0]
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
    heads: Sequence[str] | None = None,
    tails: Sequence[str] | None = None,
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
        for both of its queries. If relations are missing, they are in all rows.
    strategy : str
        See `Model`.
    top_k : int
        The most answers to a query; 0 for all.
    heads, tails : sequence of str, optional
        The only entities that may be answers for a head, and for a tail (see `Graph.of_type`).
    show_known : bool
        Known facts are answers too; otherwise the facts of all splits are filtered.
    **settings
        See `Model`.

    Returns
    -------
    DataFrame
        A row for each answer: ``head``, ``relation``, ``tail``, ``direction`` ("tail", "head" or
        "relation": what was missing), ``rank`` from 1, ``score``, ``known``.
    """
    model = Model(strategy, **settings).fit(graph, rules)
    return model.rank(queries, top_k, heads=heads, tails=tails, show_known=show_known)


def score_triples(
    graph: Graph,
    rules: Rules,
    triples: Patterns,
    strategy: str = DEFAULT,
    *,
    heads: Sequence[str] | None = None,
    tails: Sequence[str] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Score triples, known or not.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet, path or sequence of paths
    triples : table
        Heads, relations and tails by name.
    strategy : str
        See `Model`.
    heads, tails : sequence of str, optional
        The only entities among which a head, and a tail, is ranked, besides itself.
    **settings
        See `Model`; `top_x` only matters for fits and probabilities.

    Returns
    -------
    DataFrame
        A row for each triple: ``head``, ``relation``, ``tail``; ``score``, NaN if no rule predicts
        it; ``probability`` (calibrated on valid; NaN if that is empty); ``head_rank`` and
        ``tail_rank``, filtered, among all candidates, the mean one of ties.
    """
    model = Model(strategy, **settings).fit(graph, rules)
    return model.score_triples(triples, heads=heads, tails=tails)


def predict(
    graph: Graph,
    rules: Rules,
    relations: Sequence[str] | None = None,
    strategy: str = DEFAULT,
    top: int = 1000,
    *,
    min_score: float = -np.inf,
    heads: Sequence[str] | None = None,
    tails: Sequence[str] | None = None,
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
    heads, tails : sequence of str, optional
        The only entities that may be heads, and tails (see `Graph.of_type`).
    **settings
        See `Model`.

    Returns
    -------
    DataFrame
        A row for each fact, best first: ``head``, ``relation``, ``tail``, ``score``,
        ``probability`` (calibrated on valid; NaN if that is empty), ``rules`` (how many predict
        it), ``rule`` (the best of them).
    """
    model = Model(strategy, **settings).fit(graph, rules)
    return model.predict(relations, top, min_score=min_score, heads=heads, tails=tails)


def explain(
    graph: Graph,
    rules: Rules,
    head: str,
    relation: str | None,
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
        Without a relation, the most likely one that is not known is explained.
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
