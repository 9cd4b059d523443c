"""What `import kgagg` offers: graphs, rules, and what follows from them, as tables.

Wherever a function takes a graph, it also takes what `Graph.read` does: a folder, a file, or the
name of a registered dataset. Wherever it takes rules, it also takes rule files, which are read with
the weights and thresholds of the semantics; a `RuleSet` is used as it is. A list of names may be
one name.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path as Place
from typing import Any

import numpy as np
import pandas as pd

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import MISSING, Queries
from kgagg.errors import InputError, NotFittedError, at_least, nearest
from kgagg.evaluation.run import Evaluation, ready_strategy
from kgagg.evaluation.run import evaluate as evaluate_strategies
from kgagg.explanation.explanation import Explanation, find_fact
from kgagg.explanation.explanation import explain as explain_fact
from kgagg.graph.graph import Graph
from kgagg.graph.known import known_before
from kgagg.graph.splitting import RATIO, split_graph
from kgagg.mining.counting import with_missing_counts
from kgagg.prediction.answers import numbers_of
from kgagg.prediction.calibration import Calibration, answered
from kgagg.prediction.completion import chosen_relations
from kgagg.prediction.completion import predict as predict_facts
from kgagg.prediction.relations import answer_patterns, likely_relations
from kgagg.prediction.restriction import allowed_entities
from kgagg.prediction.scoring import Scored, Thresholds, classification
from kgagg.prediction.scoring import score_triples as score_given
from kgagg.prediction.writers import answer_tables
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.base import TOP_H, Strategy
from kgagg.strategies.registry import DEFAULT, ENDING, PAPER
from kgagg.util.files import replacing

Path = str | os.PathLike[str]
Data = Graph | Path
Rules = RuleSet | Path | Sequence[Path]
Names = str | Sequence[str]
# head, relation, tail by name; None or "?" for what is missing
Pattern = tuple[str | None, str | None, str | None]
Patterns = Pattern | Iterable[Pattern] | pd.DataFrame


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
    progress : bool
        Show what is under way, on the standard error.

    Attributes
    ----------
    engine_ : Engine
        Made by `fit`.
    strategy_ : Strategy
        Fitted, if it needs a fit.
    """

    engine_: Engine
    strategy_: Strategy

    def __init__(
        self,
        strategy: str = DEFAULT,
        *,
        semantics: str = "anyburl",
        top_x: int = 200,
        top_h: Sequence[int] = TOP_H,
        threads: int | None = None,
        progress: bool = False,
    ) -> None:
        at_least("top_x", top_x, 0)
        at_least("threads", threads, 1)
        self.strategy, self.semantics = strategy, semantics
        self.top_x, self.top_h, self.threads = top_x, top_h, threads
        self.progress = progress

    def __getattr__(self, name: str) -> Any:
        """Report what `fit` would have made; only called for what is not there."""
        if name in ("engine_", "strategy_"):
            raise NotFittedError("the model")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        if "engine_" not in vars(self):
            return f"Model({self.strategy!r}, not fitted)"
        return f"Model({self.strategy_.name!r}, {self.engine_.graph!r}, {self.engine_.rules!r})"

    def _repr_html_(self) -> str:
        """Show the strategy, the graph and the rules, in a notebook."""
        from kgagg.util.html import table

        rows = [["strategy", self.strategy], ["semantics", self.semantics]]
        if "engine_" in vars(self):
            parts = {"graph": self.engine_.graph, "rules": self.engine_.rules}
            rows += [[name, repr(part)] for name, part in parts.items()]
        return table(("Model", "" if "engine_" in vars(self) else "not fitted"), rows)

    def fit(self, graph: Data, rules: Rules) -> Model:
        """Index the rules, and fit the strategy on the valid split if it needs a fit."""
        self.engine_ = _engine(graph, rules, self.semantics, self.threads)
        self.strategy_ = ready_strategy(
            self.engine_, self.strategy, top_h=self.top_h, **self._applying
        )
        return self

    @property
    def _applying(self) -> dict[str, Any]:
        """Return the options of `Engine.apply`."""
        return {"top_x": self.top_x, "threads": self.threads, "quiet": not self.progress}

    def save(self, folder: Path) -> Place:
        """Write the graph, the rules and the fitted strategy into `folder`; return its path.

        Raises
        ------
        NotFittedError
            If it is not fitted.
        """
        engine, strategy = self.engine_, self.strategy_
        place = Place(folder)
        place.mkdir(parents=True, exist_ok=True)
        graph = engine.graph.save(place)
        engine.rules.save(place / "rules.kgagg")
        name = strategy.name
        if strategy.needs:
            strategy.save(place / f"strategy{ENDING}", engine.names)
            name = f"strategy{ENDING}"
        settings = {key: getattr(self, key) for key in _SETTINGS}
        content = {"graph": graph.name, "strategy": name, "settings": settings}
        # the last: without it the folder is no model
        with replacing(place / _MODEL) as temporary:
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        return place

    @classmethod
    def load(cls, folder: Path) -> Model:
        """Read what `save` wrote; nothing is fitted again.

        Raises
        ------
        InputError
            If it is no such folder, or a file in it is damaged.
        """
        path = Place(folder) / _MODEL
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            graph, name, settings = (content[key] for key in ("graph", "strategy", "settings"))
            model = cls(**{key: settings[key] for key in _SETTINGS})
        except FileNotFoundError:
            raise InputError(f"{folder}: has no {_MODEL}, expected what Model.save wrote") from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: damaged: {error}") from None
        model.engine_ = Engine.open(
            Graph.open(path.with_name(graph)),
            RuleSet.open(path.with_name("rules.kgagg")),
            model.semantics,
        )
        opened = str(path.with_name(name)) if name.endswith(ENDING) else name
        model.strategy_ = ready_strategy(model.engine_, opened, top_h=model.top_h)
        return model

    def rank(
        self,
        queries: Patterns,
        top_k: int = 100,
        *,
        heads: Names | None = None,
        tails: Names | None = None,
        show_known: bool = False,
    ) -> pd.DataFrame:
        """Return the best answers to queries (see `kgagg.rank`)."""
        graph = self.engine_.graph
        answers = answer_patterns(
            self.engine_,
            _numbers(graph, queries),
            self.strategy_,
            top_k=top_k,
            allowed=allowed_entities(graph, _items(heads), _items(tails)),
            show_known=show_known,
            **self._applying,
        )
        return pd.concat(answer_tables(answers, graph), ignore_index=True)

    def score_triples(
        self,
        triples: Patterns,
        *,
        heads: Names | None = None,
        tails: Names | None = None,
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
        heads: Names | None = None,
        tails: Names | None = None,
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
            allowed=allowed_entities(graph, _items(heads), _items(tails)),
            threads=self.threads,
            quiet=not self.progress,
        )

    @property
    def _calibration(self) -> Calibration | None:
        """From scores to probabilities, on valid; None if that is empty."""
        if not len(self.engine_.graph.valid):
            return None
        found = answered(self.engine_, self.strategy_, "valid", **self._applying)
        return Calibration.fit(found)

    def predict(
        self,
        relations: Names | None = None,
        top: int = 1000,
        *,
        min_score: float = -np.inf,
        heads: Names | None = None,
        tails: Names | None = None,
    ) -> pd.DataFrame:
        """Return the best new facts (see `kgagg.predict`)."""
        graph = self.engine_.graph
        return predict_facts(
            self.engine_,
            self.strategy_,
            chosen_relations(graph, _items(relations)),
            top=top,
            min_score=min_score,
            calibration=self._calibration,
            allowed=allowed_entities(graph, _items(heads), _items(tails)),
            **self._applying,
        ).to_pandas()

    def evaluate(
        self, split: str = "test", *, ties: str = "expected", intervals: bool = False
    ) -> pd.DataFrame:
        """Evaluate the strategy on a split, filtered, in both directions (see `kgagg.evaluate`)."""
        options = {"ties": ties, **self._applying}
        found = evaluate_strategies(self.engine_, [self.strategy_], split, **options)
        return _table(found, intervals)

    def protocols(self, split: str = "test") -> pd.DataFrame:
        """Return the metrics under other conventions of the literature.

        Returns
        -------
        DataFrame
            A row for each: ``protocol`` (see `kgagg.evaluation.protocols.PROTOCOLS`),
            ``strategy``, the metrics and ``queries``, how many count.
        """
        from kgagg.evaluation.protocols import compare_protocols

        return compare_protocols(self.engine_, [self.strategy_], split, **self._applying)

    def explain(self, head: str, relation: str | None, tail: str, top: int = 10) -> Explanation:
        """Explain a fact (see `kgagg.explain`)."""
        if relation is None or relation == "?":
            relation = likely_relations(self.engine_, head, tail, self.strategy_, 1)[0][0]
        fact = find_fact(self.engine_.graph, head, relation, tail)
        return explain_fact(self.engine_, fact, self.strategy_, top=top)


_MODEL = "model.json"
_SETTINGS = ("strategy", "semantics", "top_x", "top_h", "threads")


def fetch(
    name: str, *, mirror: Path | None = None, offline: bool = False, progress: bool = False
) -> Place:
    """Fetch a registered dataset into the cache, verified by content; return its folder.

    Parameters
    ----------
    name : str
    mirror : path, optional
        A folder to try first; ``KGAGG_MIRROR`` by default.
    offline : bool
        Use only the cache and the mirror.
    progress : bool
        Show what is under way.

    Raises
    ------
    Unavailable
        If no source has it.
    """
    from kgagg.data import datasets, registry

    place = None if mirror is None else Place(mirror)
    return datasets.fetch(registry.find(name), mirror=place, offline=offline, quiet=not progress)


def split(
    graph: Data, ratio: Sequence[float] = RATIO, *, seed: int = 0, no_leak: bool = False
) -> Graph:
    """Split the triples of a graph at random; every name of valid and test is in train.

    Parameters
    ----------
    graph : Graph or path
        All of its triples are split again, each once.
    ratio, seed, no_leak
        See `kgagg.graph.splitting.split_graph`.
    """
    return split_graph(_graph(graph), ratio, seed=seed, no_leak=no_leak)


def mine(graph: Data, miner: str = "native", *, progress: bool = False, **settings: Any) -> RuleSet:
    """Mine rules from the train split of a graph.

    Parameters
    ----------
    graph : Graph or path
    miner : str
        ``"native"``, which needs no Java, ``"anyburl"`` or ``"amie"``.
    progress : bool
        Show what is under way.
    **settings
        Of the native miner: ``max_length_cyclic``, ``rules``, ``seconds``, ``threads`` (see
        `kgagg.mining.native.miner.mine`); of the others see ``mine`` in their modules.

    Returns
    -------
    RuleSet
        Best first, with the weights and thresholds of AnyBURL's semantics.
    """
    miners = ("native", "anyburl", "amie")
    if miner not in miners:
        known = f"expected one of {', '.join(miners)}{nearest(miner, miners)}"
        raise InputError(f"{miner}: no such miner, {known}")
    found = _graph(graph)
    with tempfile.TemporaryDirectory(prefix="kgagg-") as folder:
        out = Place(folder) / ("rules.kgagg" if miner == "native" else "rules.txt")
        if miner == "native":
            from kgagg.mining.native.miner import mine as mine_native

            mine_native(found, out, quiet=not progress, **settings)
        else:
            _mine_java(found, miner, out, not progress, settings)
        names = (found.entities, found.relations)
        return RuleSet.read(out, names, Confidence.preset("anyburl"))


def _mine_java(graph: Graph, miner: str, out: Place, quiet: bool, settings: Any) -> None:
    """Mine with a miner in Java into `out`."""
    from kgagg.mining import amie, anyburl
    from kgagg.mining.setup import prepare

    keys = ("jar", "java", "memory", "threads")
    needed = {key: settings.pop(key) for key in keys if key in settings}
    setup = prepare(str(graph.write(out.parent / "graph")), miner, quiet=quiet, **needed)
    (anyburl if miner == "anyburl" else amie).mine(setup, out, quiet=quiet, **settings)


def apply(
    graph: Data,
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
    graph : Graph or path
    rules : RuleSet, path or sequence of paths
    queries : str or table
        A split, for which the facts of the splits before it are filtered; or heads, relations and
        tails by name, with None for what is missing, for which the facts of all splits are.
    best : int
        How many rules to keep for each candidate; 0 for all.
    top_x, semantics, threads
        See `Model`.
    """
    engine = _engine(graph, rules, semantics, threads)
    graph = engine.graph
    if isinstance(queries, str):
        wanted = Queries.from_triples(graph.split(queries))
        known = known_before(graph, queries)
    else:
        wanted, known = Queries.from_patterns(_numbers(graph, queries)), graph.facts
    chunks = list(engine.apply(wanted, known, top_x=top_x, best=best, threads=threads))
    if not chunks:
        raise InputError("no queries")
    return Firings.concatenate(chunks)


def evaluate(
    graph: Data,
    rules: Rules,
    strategies: Names = PAPER,
    split: str = "test",
    *,
    ties: str = "expected",
    intervals: bool = False,
    top_x: int = 200,
    top_h: Sequence[int] = TOP_H,
    semantics: str = "anyburl",
    threads: int | None = None,
) -> pd.DataFrame:
    """Evaluate strategies on a split, filtered, in both directions.

    Parameters
    ----------
    graph : Graph or path
    rules : RuleSet, path or sequence of paths
    strategies : sequence of str
        See `Model`, or ``"all"``; by default the paper's.
    split : str
        ``"test"`` or ``"valid"``.
    ties : str
        ``"expected"``, ``"random"``, ``"realistic"``, ``"optimistic"``, ``"pessimistic"``,
        ``"frequency"`` (PyClause's order) or ``"anyburl"`` (its order).
    intervals : bool
        Add ``interval_low`` and ``interval_high``, a 95 % bootstrap interval of the MRR.
    top_x, top_h, semantics, threads
        See `Model`.

    Returns
    -------
    DataFrame
        By strategy: ``mrr``, ``hits@1``, ``hits@3``, ``hits@10``; ``tied``, the share of queries
        whose target is tied; ``low`` and ``high``, the bracket of the MRR over all ways to break
        ties.
    """
    engine = _engine(graph, rules, semantics, threads)
    options: dict[str, Any] = {"top_h": top_h, "top_x": top_x, "ties": ties, "threads": threads}
    return _table(evaluate_strategies(engine, _items(strategies), split, **options), intervals)


def rank(
    graph: Data,
    rules: Rules,
    queries: Patterns,
    strategy: str = DEFAULT,
    top_k: int = 100,
    *,
    heads: Names | None = None,
    tails: Names | None = None,
    show_known: bool = False,
    **settings: Any,
) -> pd.DataFrame:
    """Return the best answers to queries.

    Parameters
    ----------
    graph : Graph or path
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
    graph: Data,
    rules: Rules,
    triples: Patterns,
    strategy: str = DEFAULT,
    *,
    heads: Names | None = None,
    tails: Names | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Score triples, known or not.

    Parameters
    ----------
    graph : Graph or path
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
    graph: Data,
    rules: Rules,
    relations: Names | None = None,
    strategy: str = DEFAULT,
    top: int = 1000,
    *,
    min_score: float = -np.inf,
    heads: Names | None = None,
    tails: Names | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Complete a graph: the facts with the highest scores that are in no split.

    Parameters
    ----------
    graph : Graph or path
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
    graph: Data,
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
    graph : Graph or path
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


def _graph(data: Data) -> Graph:
    return data if isinstance(data, Graph) else Graph.read(data)


def _engine(graph: Data, rules: Rules, semantics: str, threads: int | None) -> Engine:
    """Index the rules; those without statistics are counted on train."""
    engine = Engine.open(graph, rules, semantics, threads=threads)
    return with_missing_counts(engine, threads)


def _items(names: Names | None) -> Any:
    """Return a list of names; a plain string is one."""
    return [names] if isinstance(names, str) else names


def _table(found: Evaluation, intervals: bool) -> pd.DataFrame:
    table = found.table()
    if intervals:
        bounds = found.intervals().set_index("strategy")
        table[["interval_low", "interval_high"]] = bounds.loc[table.index, ["low", "high"]]
    return table


def _numbers(graph: Graph, queries: Patterns) -> np.ndarray:
    """Return the numbers of names, `MISSING` where there is None: int32[n, 3]."""
    if isinstance(queries, pd.DataFrame):
        columns = ["head", "relation", "tail"]
        if absent := [name for name in columns if name not in queries]:
            raise InputError(
                f"a table without {', '.join(absent)}: expected columns head, relation and tail"
            )
        table = queries[columns].astype(object)
        queries = table.where(table.notna(), None).itertuples(index=False, name=None)
    elif isinstance(queries, tuple) and all(isinstance(name, str | None) for name in queries):
        # one triple is meant
        queries = [queries]
    rows = []
    for query in queries:
        if not isinstance(query, Sequence) or isinstance(query, str) or len(query) != 3:
            raise InputError(f"{query!r}: expected head, relation and tail, None for a missing one")
        rows.append(numbers_of(graph, *query))
    return np.array(rows, np.int32).reshape(-1, 3)
