"""A ranker over features of rules, learned on valid.

The best candidates of a query by `kgagg.strategies.factors` are ranked anew: their score is that
of factors, scaled, plus what two ensembles of trees (LightGBM) make of
`kgagg.strategies.features`. One learns to rank (lambdarank), from the score of factors on; the
other learns the log-odds that a candidate is a target, which are the same in all queries. They err
in different ways: the sum is better than each. The other candidates keep their order below. Targets
that are not among the best are not learned from: a place that only targets can have would give them
away.

Everything is learned on valid, in folds of triples, so that a triple's other direction gives
nothing away. The factors that score a fold are learned on the others, and the other folds' targets
are left out of its queries as known facts are. How many trees there are is chosen by the MRR of
half the folds under trees that the other half grew, and vice versa; meanwhile the targets of the
half that is left out are wrong answers, as those of test are when all of valid is learned from.
Otherwise the one candidate that was never wrong would be the right one. So are compared the ranker,
factors alone and noisy-or-top-h*; what is best is used, and the report says which.

Without LightGBM (``pip install kgagg[learned]``) it is factors or noisy-or-top-h*.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.graph.graph import Graph
from kgagg.ranking.targets import reciprocal_ranks, target_rows
from kgagg.ranking.ties import harmonic_numbers, values
from kgagg.strategies import _features
from kgagg.strategies.base import REGISTERED, TOP_H, Strategy, register
from kgagg.strategies.factors import DEPTH, Factors
from kgagg.strategies.features import OF_RULES, RELATION, Chosen, Features, pointers
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.scores import Scores
from kgagg.strategies.scoring import best_rules, rank_all, score
from kgagg.strategies.tuned import NoisyOrTopHStar, top_h_choices, tune
from kgagg.util.progress import Progress

# how many candidates of a query are ranked anew; into how many folds triples are put; the most
# epochs of factors
CUT, FOLDS, EPOCHS = 50, 4, 3
# how many trees of each ensemble are tried: up to the one, in steps of the other
TREES, STEP = 250, 10
# of the scores of factors, for which they have a scale of their own
_SCALE = 0.25
# a tree has a leaf for this many targets, within these bounds
_TARGETS_PER_LEAF, _LEAVES = 400, (4, 31)
# its name with the scores of another model
WITH_SCORES = "learned+scores"
_MISSING = "learned uses factors, as lightgbm is not installed (pip install kgagg[learned])"
# of each ensemble
_OBJECTIVES: tuple[dict[str, Any], ...] = (
    {"objective": "lambdarank", "lambdarank_truncation_level": 20, "learning_rate": 0.05},
    {"objective": "binary", "learning_rate": 0.1},
)
_OPTIONS = {
    "metric": "none",
    "num_threads": 1,
    "min_data_in_leaf": 50,
    "lambda_l2": 10.0,
    "feature_fraction": 0.5,
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


@register("learned")
class Learned(Strategy):
    """Trees over features of rules (see the module).

    Parameters
    ----------
    top_h : sequence of int
        What ``noisy-or-top-h*`` chooses from (see `TOP_H`).
    without : sequence of str
        Families of features that are not used (see `FAMILIES`).
    scores : Scores, optional
        By another model. The strategy is called ``learned+scores`` then, so that it is never taken
        for what rules alone can do.

    Attributes
    ----------
    base : Strategy
        `Factors`, or what is used in place of the ranker.
    features : Features or None
        None if there is no ranker.
    models : tuple of uint8[n]
        LightGBM's text of each ensemble.
    """

    name = "learned"
    best = DEPTH
    needs = ("train", "valid")
    base: Strategy
    features: Features | None
    models: tuple[np.ndarray, ...]

    def __init__(
        self,
        top_h: Sequence[int] = TOP_H,
        without: Sequence[str] = (),
        scores: Scores | None = None,
    ) -> None:
        self.top_h, self.without, self.scores = tuple(top_h), tuple(without), scores
        if scores:
            self.name = WITH_SCORES
        best = best_rules(top_h_choices(top_h))
        self.best = max(DEPTH, best)

    @classmethod
    def named(cls, name: str, top_h: Sequence[int] = TOP_H) -> Learned:
        """Compare with noisy-or-top-h* for these h."""
        return cls(top_h)

    # --- scoring -------------------------------------------------------------------------------

    def score(self, firings: Firings) -> np.ndarray:
        """Return the scores of the ranker, or of what is used in its place."""
        first = score(firings, [self.base])[0]
        if self.features is None:
            return first
        chosen = Chosen.best(firings, first, CUT)
        described = self.features(firings, chosen, first)
        before = first * self._scale
        return _ranked_anew(firings.query_ptr, before, chosen, self._predicted(described)[:, 0])

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return the scores, as what is used in place of the ranker shows them."""
        return scores if self.features else self.base.display(firings, scores)

    @property
    def _scale(self) -> float:
        return float((self.report or {})["scale"])

    def _predicted(self, described: np.ndarray, parts: bool = False) -> np.ndarray:
        """Return what trees give: float64[n, 1], or by column, and last what all have in common."""
        if "_trees" not in vars(self):
            import lightgbm

            texts = (model.tobytes().decode() for model in self.models)
            self._trees = [lightgbm.Booster(model_str=text) for text in texts]
        if not len(described):
            return np.empty((0, 1))
        options: dict[str, Any] = {"raw_score": True, "pred_contrib": parts, "num_threads": 1}
        found = [np.asarray(one.predict(described, **options)) for one in self._trees]
        return np.sum(found, axis=0).reshape(len(described), -1)

    # --- explaining ----------------------------------------------------------------------------

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return what each rule adds before the trees; `explained` has what it adds in all."""
        return self.base.contributions(rules, confidence)

    def explained(self, firings: Firings, row: int) -> tuple[np.ndarray, dict[str, float]]:
        """Return what rules and families of features add to the score of a candidate.

        The parts that trees ascribe to features (Shapley values) sum to what they add. The feature
        of one rule counts for this rule; those of all rules, and the score of factors, count for
        each in proportion to its part of that score.
        """
        rules, others = self.base.explained(firings, row)
        if self.features is None:
            return rules, others
        first = score(firings, [self.base])[0]
        chosen = Chosen.best(firings, first, CUT)
        place = np.flatnonzero(chosen.row == row)
        rules = rules * self._scale
        others = {name: value * self._scale for name, value in others.items()}
        if not len(place):
            rest = self.score(firings)[row] - rules.sum() - sum(others.values())
            return rules, others | {f"beyond the first {CUT}": float(rest)}
        *found, common = self._predicted(self.features(firings, chosen, first)[place], True)[0]
        share = np.abs(rules)
        share = share / share.sum() if share.any() else np.full(len(rules), 1 / len(rules))
        for column, value in zip(self.features.columns, found, strict=True):
            if 0 <= column.rule < len(rules):
                rules[column.rule] += value
            elif column.family in OF_RULES:
                rules += value * share
            else:
                others[column.family] = others.get(column.family, 0.0) + float(value)
        return rules, others | {"every candidate": float(common)}

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return itself, or what was chosen by the strategy in place of the ranker."""
        return self if self.features else self.base.choice(relation, direction)

    # --- files ---------------------------------------------------------------------------------

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the trees, and all that features and the base are made of."""
        parts = {f"base.{name}": array for name, array in self.base.arrays().items()}
        if self.features:
            named = self.features.arrays().items()
            parts |= {f"features.{name}": array for name, array in named}
            parts |= {f"model.{i}": model for i, model in enumerate(self.models)}
        return parts

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from what `arrays` gave."""

        def under(prefix: str) -> dict[str, np.ndarray]:
            return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

        base = REGISTERED[report["base"]].restore(report["base_report"], under("base."))
        models = tuple(under("model.").values())
        features = Features.restore(under("features.")) if models else None
        return cls._with(report, base, features, models)

    @classmethod
    def _with(
        cls,
        report: Mapping[str, Any],
        base: Strategy,
        features: Features | None = None,
        models: tuple[np.ndarray, ...] = (),
    ) -> Self:
        named = {"base": base.name, "base_report": dict(base.report or {})}
        parts = {"base": base, "features": features, "models": models, "best": base.best}
        parts["name"] = report["name"]
        return cls.fitted_with({**report, **named}, **parts)

    def check(self, rules: int, relations: int, entities: int) -> None:
        """Check what scores first, and what features are computed with."""
        self.base.check(rules, relations, entities)
        if self.features is not None:
            self.features.check(rules, relations, entities)

    def renumbered(self, relations: np.ndarray, entities: np.ndarray) -> Self:
        """Return the strategy for other numbers; what is new has no facts."""
        base = self.base.renumbered(relations, entities)
        features = self.features and self.features.renumbered(relations, entities)
        return self._with(self.report or {}, base, features, self.models)

    # --- fitting -------------------------------------------------------------------------------

    def fit(self, fitting: Fitting) -> Self:
        """Learn factors and trees, and use what does best on triples that are left out."""
        valid = fitting.valid(self.best)
        factors, fold, scores = Factors().cross_fit(
            fitting,
            valid,
            FOLDS,
            epochs=0 if "factors" in self.without else EPOCHS,
            biased="facts" not in self.without,
        )
        report = factors.report or {}
        scale = report["scale"] * _SCALE
        mrr = {
            NoisyOrTopHStar.name: _tuned(fitting, valid, self.top_h, fold),
            Factors.name: report["curve"][report["epochs"]][1],
        }
        curve: dict[int, float] = {}
        if _lightgbm():
            features = Features.of(fitting.engine, self.scores)
            lesson = _Lesson(fitting, features, self.without, scale)
            for number in range(FOLDS):
                lesson.add(valid, fold, number, scores[number])
            del valid, scores
            curve = lesson.curve()
            lesson.halves.clear()
            mrr[self.name] = max(curve.values())
        else:
            print(f"kgagg: warning: {_MISSING}", file=sys.stderr)
        used = max(mrr, key=lambda name: round(mrr[name], 9))
        found = {
            "name": self.name,
            "used": used,
            "mrr": mrr,
            "along": "trees" if curve else report["along"],
            "curve": [list(point) for point in curve.items()] or report["curve"],
            "scale": scale,
        }
        if used == NoisyOrTopHStar.name:
            return self._with(found, NoisyOrTopHStar(self.top_h).fit(fitting))
        if used == Factors.name:
            return self._with(found, factors)
        trees = max(curve, key=lambda number: round(curve[number], 9))
        return self._with({**found, "trees": trees}, factors, features, lesson.grow(trees))


def with_scores(path: str | os.PathLike[str], graph: Graph, top_h: Sequence[int]) -> Learned:
    """Return the strategy with the scores of a file as one more feature, to be fitted.

    Raises
    ------
    InputError
        See `Scores.read`.
    """
    return Learned(top_h, scores=Scores.read(path, graph))


class _Part(NamedTuple):
    """The best candidates of the queries of a fold that have a target among them.

    Attributes
    ----------
    described : float32[n, columns]
    target : bool[n]
    start : float64[n]
        The score before the trees.
    size : int64[queries]
    """

    described: np.ndarray
    target: np.ndarray
    start: np.ndarray
    size: np.ndarray


class _Lesson:
    """What trees learn from.

    Parameters
    ----------
    fitting : Fitting
    features : Features
    without : sequence of str
        Families that are not used.
    scale : float
        Of the scores before the trees.
    """

    def __init__(
        self, fitting: Fitting, features: Features, without: Sequence[str], scale: float
    ) -> None:
        self.fitting, self.features, self.scale = fitting, features, scale
        columns = enumerate(features.columns)
        self.left_out = [i for i, column in columns if column.family in without]
        # of each fold, and the same when half the folds are left out
        self.parts: list[_Part] = []
        self.halves: list[_Part] = []
        # the targets, and the reciprocal ranks of those that are not among the best candidates
        self.targets, self.beyond = 0, 0.0

    def add(self, valid: Firings, fold: np.ndarray, number: int, scores: np.ndarray) -> None:
        """Add a fold.

        Parameters
        ----------
        valid : Firings
        fold : int64[targets]
        number : int
            The fold.
        scores : float64[candidates]
            By factors that were learned without the fold.
        """
        own = fold == number
        self.halves.append(self._part(valid, own, ~own & (fold % 2 == number % 2), scores)[0])
        part, beyond = self._part(valid, own, ~own, scores)
        self.parts.append(part)
        self.targets += int(own.sum())
        self.beyond += beyond

    def _part(
        self, valid: Firings, used: np.ndarray, known: np.ndarray, scores: np.ndarray
    ) -> tuple[_Part, float]:
        """Return what there is to learn from targets, and the reciprocal ranks beyond the cut.

        Parameters
        ----------
        valid, scores
            See `add`.
        used, known : bool[targets]
            Targets, and those that are no candidates.
        """
        firings, row = _only(valid, used, known)
        first = scores[row]
        wanted = target_rows(firings)
        chosen = Chosen.best(firings, first, CUT)
        target = np.isin(chosen.row, wanted)
        size = np.diff(chosen.ptr)
        query = np.repeat(np.arange(len(size)), size)
        has = np.bincount(query, target, len(size)) > 0
        kept = np.flatnonzero(has[query])
        described = np.concatenate(
            [
                self.features(part, Chosen.best(part, one, CUT), one)
                for part, one in _pieces(firings, first)
            ]
        )[kept]
        described[:, self.left_out] = 0.0
        start = first[chosen.row[kept]] * self.scale
        lost = ~np.isin(wanted, chosen.row)
        beyond = float(reciprocal_ranks(firings, first[None])[0, lost].sum())
        return _Part(described, target[kept], start, size[has]), beyond

    def curve(self) -> dict[int, float]:
        """Return the MRR for numbers of trees, on folds that they were not grown on."""
        others = [_joined(self.parts[1 - half :: 2]) for half in (0, 1)]
        steps = TREES // STEP

        def predicted(job: tuple[int, Mapping[str, Any]], progress: Progress) -> np.ndarray:
            half, objective = job
            model = self._grow(_joined(self.halves[half::2]), objective, TREES, progress)
            found = np.zeros((steps + 1, len(others[half].target)))
            for i in range(steps):
                found[i + 1] = found[i] + model.predict(
                    others[half].described,
                    start_iteration=i * STEP,
                    num_iteration=STEP,
                    raw_score=True,
                    num_threads=1,
                )
            return found

        jobs = [(half, objective) for half in (0, 1) for objective in _OBJECTIVES]
        found = self._side_by_side(predicted, jobs, TREES)
        totals, harmonic = np.full(steps + 1, self.beyond), harmonic_numbers(CUT)
        for half, other in enumerate(others):
            trees = sum(part for (own, _), part in zip(jobs, found, strict=True) if own == half)
            totals += [
                _features.reciprocal_rank(pointers(other.size), other.target, one, harmonic)
                for one in other.start + trees
            ]
        return dict(zip(range(0, TREES + 1, STEP), (totals / self.targets).tolist(), strict=True))

    def grow(self, trees: int) -> tuple[np.ndarray, ...]:
        """Learn from all folds; return LightGBM's text of each ensemble, uint8[n]."""
        part = _joined(self.parts)

        def text(objective: Mapping[str, Any], progress: Progress) -> np.ndarray:
            # without the settings
            found = self._grow(part, objective, trees, progress).model_to_string()
            return np.frombuffer(found.partition("\nparameters:")[0].encode() + b"\n", np.uint8)

        return tuple(self._side_by_side(text, _OBJECTIVES, trees))

    def _side_by_side(
        self, work: Callable[[Any, Progress], np.ndarray], jobs: Sequence[Any], trees: int
    ) -> list[np.ndarray]:
        """Do jobs that grow so many trees each.

        LightGBM's own threads wait for each other at each node, which wastes processors that have
        other work; ensembles do not.
        """
        fitting = self.fitting
        with (
            Progress("grow", len(jobs) * trees, "trees", quiet=fitting.quiet) as progress,
            ThreadPoolExecutor(min(fitting.workers, len(jobs))) as pool,
        ):
            return list(pool.map(lambda job: work(job, progress), jobs))

    def _grow(
        self, part: _Part, objective: Mapping[str, Any], trees: int, progress: Progress
    ) -> Any:
        """Return an ensemble that learned from a part."""
        lightgbm = _lightgbm()
        ranks = objective["objective"] == "lambdarank"
        options = {
            **_OPTIONS,
            **objective,
            "num_leaves": int(np.clip(part.target.sum() // _TARGETS_PER_LEAF, *_LEAVES)),
            "seed": self.fitting.seed,
        }
        data = lightgbm.Dataset(
            part.described,
            part.target,
            group=part.size if ranks else None,
            init_score=part.start if ranks else None,
            categorical_feature=[RELATION],
            params=options,
        )
        model = lightgbm.Booster(options, data)
        for _ in range(trees):
            model.update()
            progress.add(1)
        return model


def _lightgbm() -> Any:
    """Return the module, None if it is not installed."""
    try:
        return importlib.import_module("lightgbm")
    except ImportError:
        return None


def _ranked_anew(
    query_ptr: np.ndarray, before: np.ndarray, chosen: Chosen, trees: np.ndarray
) -> np.ndarray:
    """Add what trees give to chosen candidates, and move the others of a query below them.

    Parameters
    ----------
    query_ptr : int64[queries + 1]
    before : float64[candidates]
        The scores before the trees.
    chosen : Chosen
    trees : float64[n]

    Returns
    -------
    float64[candidates]
    """
    result, after = before.copy(), before[chosen.row] + trees
    some = np.flatnonzero(np.diff(query_ptr))
    down = np.zeros(len(query_ptr) - 1)
    if len(some):
        lowest = [np.minimum.reduceat(x, chosen.ptr[some]) for x in (after, before[chosen.row])]
        down[some] = lowest[0] - lowest[1] - 1.0
    result += np.repeat(down, np.diff(query_ptr))
    result[chosen.row] = after
    return result


def _joined(parts: Sequence[_Part]) -> _Part:
    return _Part(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _pieces(firings: Firings, scores: np.ndarray) -> Iterator[tuple[Firings, np.ndarray]]:
    """Yield firings and scores of some queries after the other, which take less memory."""
    for start in range(0, len(firings.queries), 1024):
        stop = min(start + 1024, len(firings.queries))
        yield firings.part(start, stop), scores[slice(*firings.query_ptr[[start, stop]])]


def _only(firings: Firings, used: np.ndarray, known: np.ndarray) -> tuple[Firings, np.ndarray]:
    """Return the queries with used targets, as if others were known facts, or wrong.

    Parameters
    ----------
    firings : Firings
    used, known : bool[targets]
        Targets that stay, and those that are no candidates; others are candidates, but no targets.

    Returns
    -------
    firings : Firings
    row : int64[candidates]
        The rows of its candidates in `firings`.
    """
    queries = firings.queries
    owner = np.repeat(np.arange(len(queries)), np.diff(queries.target_ptr))
    wanted = np.bincount(owner[used], minlength=len(queries)) > 0
    query = np.repeat(np.arange(len(queries)), np.diff(firings.query_ptr))
    kept = wanted[query]
    gone = target_rows(firings)[known]
    kept[gone[gone >= 0]] = False
    row = np.flatnonzero(kept)
    size = np.diff(firings.rule_ptr)[row]
    rule_ptr = pointers(size)
    rule = np.arange(rule_ptr[-1]) + np.repeat(firings.rule_ptr[row] - rule_ptr[:-1], size)
    part = dataclasses.replace(
        firings,
        queries=Queries(
            queries.relation[wanted],
            queries.direction[wanted],
            queries.entity[wanted],
            pointers(np.bincount(owner[used], minlength=len(queries))[wanted]),
            queries.target[used],
            queries.triple[used],
        ),
        query_ptr=pointers(np.bincount(query[row], minlength=len(queries))[wanted]),
        candidate=firings.candidate[row],
        count=firings.count[row],
        strength=firings.strength[row],
        level=firings.level[row],
        rule_ptr=rule_ptr,
        rules=firings.rules[rule],
    )
    return part, row


def _tuned(fitting: Fitting, valid: Firings, top_h: Sequence[int], fold: np.ndarray) -> float:
    """Return the MRR of noisy-or-top-h* on folds, with h chosen on the others."""
    names = (fitting.engine.graph.entities, fitting.engine.graph.relations)
    none = np.zeros(len(valid))
    chunks = (part for part, _ in _pieces(valid, none))
    ranks = rank_all(chunks, top_h_choices(top_h), fitting.triples, *names, threads=fitting.threads)
    of_triple = np.zeros(len(ranks.triples), np.int64)
    of_triple[valid.queries.triple] = fold
    value, total = values(ranks), 0.0
    for number in range(FOLDS):
        own = of_triple == number
        others = dataclasses.replace(
            ranks,
            triples=ranks.triples[~own],
            optimistic=ranks.optimistic[:, ~own],
            pessimistic=ranks.pessimistic[:, ~own],
        )
        chosen = tune(others)[0][ranks.triples[own, 1]]
        rows = np.flatnonzero(own)
        total += sum(value[chosen[:, d], rows, d].sum() for d in (0, 1))
    return float(total / value[0].size)
