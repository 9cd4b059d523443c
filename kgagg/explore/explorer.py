"""What each view shows, as plain values: names, numbers, tables."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.queries import MISSING, Queries
from kgagg.errors import InputError, nearest
from kgagg.explanation.explanation import explain
from kgagg.explanation.instances import instances
from kgagg.explore.names import NameIndex
from kgagg.graph.graph import SPLITS
from kgagg.graph.statistics import statistics
from kgagg.prediction.answers import numbers_of
from kgagg.prediction.calibration import Calibration, answered
from kgagg.prediction.relations import rank_relations
from kgagg.rules.confidence import TYPES
from kgagg.rules.dialects import anyburl
from kgagg.rules.selection import more_general, more_special
from kgagg.strategies.base import Strategy
from kgagg.strategies.scoring import best_rules, score

# rows of a page of a table
PAGE = 50
# candidates of a query, and new and known predictions of a rule
_CANDIDATES, _INSTANCES = 100, 10
# rules beside a rule
_BESIDE = 10
_SORTS = ("confidence", "support", "length")


@dataclass(frozen=True)
class View:
    """What a page shows.

    Attributes
    ----------
    name : str
        Of its template.
    title : str
    values : dict
        What the template takes.
    columns : sequence of str
        Of the table that the view can be saved as; empty if there is none.
    rows : list of lists
        Of the same.
    """

    name: str
    title: str
    values: dict[str, Any]
    columns: Sequence[str] = ()
    rows: list[list[Any]] = field(default_factory=list)


class Explorer:
    """A graph, rules and strategies, and what can be asked of them.

    Parameters
    ----------
    engine : Engine
    strategies : sequence of Strategy
        Ready to score; the first is the default.
    top_x : int
        See `Engine.apply`.
    """

    def __init__(self, engine: Engine, strategies: Sequence[Strategy], *, top_x: int = 200) -> None:
        self.engine, self.graph, self.rules = engine, engine.graph, engine.rules
        self.strategies = {one.name: one for one in strategies}
        self.label, self.top_x = self.graph.label, top_x
        self._search = {
            "entity": NameIndex(self.graph.entities.names(), self.graph.labels),
            "relation": NameIndex(self.graph.relations.names(), self.graph.labels),
        }
        self._calibrations: dict[str, Calibration] = {}
        self._calibrating: set[str] = set()
        self._statistics = statistics(self.graph)

    def calibrate(self, strategy: str = "", threads: int | None = None) -> None:
        """Learn on valid which probability belongs to a score of a strategy, by default the first.

        Until then no probability is shown.
        """
        if len(self.graph.valid):
            one = self._strategy(strategy)
            options: dict[str, Any] = {"top_x": self.top_x, "threads": threads}
            counts = answered(self.engine, one, "valid", **options)
            self._calibrations[one.name] = Calibration.fit(counts)

    def start_calibrating(self, strategy: str = "") -> None:
        """Calibrate beside what else is asked, on one processor; each strategy once."""
        name = self._strategy(strategy).name
        if name not in self._calibrating:
            self._calibrating.add(name)
            threading.Thread(target=self.calibrate, args=(name, 1), daemon=True).start()

    # --- views ---------------------------------------------------------------------------------

    def home(self) -> View:
        """Show what is in the graph, and its relations."""
        triples = np.concatenate([self.graph.split(name) for name in SPLITS])
        facts = np.bincount(triples[:, 1], minlength=len(self.graph.relations))
        rules = np.bincount(self.rules.relation, minlength=len(facts))
        rows = [
            [self.graph.relations[i], int(facts[i]), int(rules[i])]
            for i in np.argsort(-facts, kind="stable").tolist()
        ]
        values = {
            "statistics": self._statistics,
            "rules": self.rules.counts(),
            "relations": rows,
            "asked": [],
        }
        return View("home", "Explore", values, ("relation", "facts", "rules"), rows)

    def find(self, text: str, kind: str = "", limit: int = 12) -> list[dict[str, str]]:
        """Return entities and relations by what they or their labels contain.

        Parameters
        ----------
        text : str
        kind : str
            ``"entity"``, ``"relation"``, or both by default.
        limit : int
            The most of each kind.
        """
        return [
            {"kind": each, "name": name, "label": self.label(name)}
            for each, index in self._search.items()
            if kind in ("", each)
            for name in index.search(text, limit)
        ]

    def search(self, text: str) -> View:
        """Show what was found."""
        found = self.find(text, limit=PAGE)
        rows = [[one["kind"], one["name"], one["label"]] for one in found]
        values = {"text": text, "found": found}
        return View("search", f"Search: {text}", values, ("kind", "name", "label"), rows)

    def entity(self, name: str, relation: str = "", direction: str = "tail", page: int = 1) -> View:
        """Show the facts of an entity: those of one relation, paged, or some of each.

        Parameters
        ----------
        name : str
        relation : str
            All relations by default.
        direction : str
            ``"tail"`` for facts with the entity as head, ``"head"`` for those with it as tail.
        page : int
            From 1.
        """
        entity = self.graph.entities.require(name, "entity")
        keys = self._keys(entity)
        if relation:
            number = self.graph.relations.require(relation, "relation")
            keys = {key: n for key, n in keys.items() if key == 2 * number + (direction == "head")}
        size = PAGE if relation else 6
        first = size * (page - 1) if relation else 0
        groups, rows = [], []
        for key, count in sorted(keys.items(), key=lambda item: (-item[1], item[0])):
            others = self.graph.facts.step(entity, key)
            shown = [self.graph.entities[i] for i in others[first : first + size].tolist()]
            kind, side = self.graph.relations[key >> 1], "head" if key & 1 else "tail"
            groups.append({"relation": kind, "direction": side, "count": count, "entities": shown})
            for i in (others if relation else others[:size]).tolist():
                other = self.graph.entities[i]
                rows.append([other, kind, name] if key & 1 else [name, kind, other])
        most = max(keys.values(), default=1) if relation else 1
        values = {
            "entity": name,
            "groups": groups,
            "total": sum(self._keys(entity).values()),
            "relation": relation,
            "page": page,
            "pages": -(-most // size),
        }
        return View("entity", self.label(name), values, ("head", "relation", "tail"), rows)

    def ask(
        self,
        head: str,
        relation: str,
        tail: str,
        strategy: str = "",
        beside: str = "",
        stop: np.ndarray | None = None,
    ) -> View:
        """Show the candidates of a query, best first; by two strategies where they disagree.

        Parameters
        ----------
        head, relation, tail : str
            ``""`` or ``"?"`` for the one that is asked for.
        strategy, beside : str
            Names of strategies; the default one, and none beside it.
        stop
            See `Engine.apply`.
        """
        fact = numbers_of(self.graph, *(name or None for name in (head, relation, tail)))
        if MISSING not in fact:
            raise InputError("expected one of head, relation and tail to be ?")
        chosen = [self._strategy(strategy)]
        if beside and self._strategy(beside) is not chosen[0]:
            chosen.append(self._strategy(beside))
        names, known, scores = (
            self._relations(fact, chosen)
            if fact[1] == MISSING
            else self._entities(fact, chosen, stop)
        )
        ranks = [_ranks(each, known) for each in scores]
        # rows of either strategy's best; with two, those that differ most come first
        rows = np.unique(
            np.concatenate([np.argsort(-each, kind="stable")[:_CANDIDATES] for each in scores])
        )
        keys = [ranks[0][0][rows], -scores[0][rows]]
        if len(chosen) > 1:
            keys.append(-np.abs(1 / ranks[0][0][rows] - 1 / ranks[1][0][rows]))
        order = rows[np.lexsort(keys)]
        candidates = [
            {
                "name": names[i],
                "known": bool(known[i]),
                "by": [
                    self._standing(one, float(each[i]), int(low[i]), int(high[i]))
                    for one, each, (low, high) in zip(chosen, scores, ranks, strict=True)
                ],
            }
            for i in order.tolist()
        ]
        asked = "relation" if fact[1] == MISSING else "tail" if fact[2] == MISSING else "head"
        values = {
            "head": head,
            "relation": relation,
            "tail": tail,
            "asked": asked,
            "strategies": list(self.strategies),
            "chosen": [one.name for one in chosen],
            "candidates": candidates,
            "total": len(names),
            "known": int(known.sum()),
        }
        columns = [asked, "known"]
        for one in chosen:
            columns += [f"{what} ({one.name})" for what in ("rank", "score", "probability")]
        table = [
            [one["name"], int(one["known"])]
            + [by[what] for by in one["by"] for what in ("rank", "score", "probability")]
            for one in candidates
        ]
        parts = (
            self.label(name) if name not in ("", "?") else "?" for name in (head, relation, tail)
        )
        return View("ask", " · ".join(parts), values, columns, table)

    def why(
        self,
        head: str,
        relation: str,
        tail: str,
        strategy: str = "",
        stop: np.ndarray | None = None,
    ) -> View:
        """Explain a fact (see `kgagg.explanation.explanation.explain`)."""
        fact = numbers_of(self.graph, head, relation, tail)
        if MISSING in fact:
            raise InputError("expected a head, a relation and a tail to explain")
        chosen = self._strategy(strategy)
        # names, not labels, which may be the same for several
        found = explain(self.engine, fact, chosen, stop=stop).to_json(labels=False)
        for reason in itertools.chain(found["tail"]["reasons"], found["head"]["reasons"]):
            reason["shown"] = self._text(reason["rank"] - 1)
        counts = ("rank", "rule", "confidence", "correct", "predicted", "share")
        rows = [
            [direction, *(one[name] for name in counts)]
            for direction in ("tail", "head")
            for one in found[direction]["reasons"]
        ]
        columns = ("direction", "number", "rule", "confidence", "correct", "predicted", "share")
        values = {"fact": (head, relation, tail), "strategy": chosen.name, "explanation": found}
        title = " · ".join(map(self.label, (head, relation, tail)))
        return View("why", title, values, columns, rows)

    def rule_table(
        self,
        relation: str = "",
        type: str = "",
        min_confidence: float = 0.0,
        min_support: int = 0,
        sort: str = "confidence",
        page: int = 1,
    ) -> View:
        """Show the rules that meet all conditions (see `RuleSet.select`), paged."""
        if sort not in _SORTS:
            raise InputError(f"{sort}: expected one of {', '.join(_SORTS)}")
        rows = self.rules.select(
            relation=relation or None,
            type=type or None,
            min_confidence=min_confidence,
            min_support=min_support,
        )
        if sort != "confidence":
            by = -self.rules.correct[rows] if sort == "support" else self.rules.length[rows]
            rows = rows[np.argsort(by, kind="stable")]
        shown = self._listed(rows[PAGE * (page - 1) : PAGE * page])
        values = {
            "chosen": {
                "relation": relation,
                "type": type,
                "min_confidence": min_confidence,
                "min_support": min_support,
                "sort": sort,
            },
            "types": TYPES,
            "sorts": _SORTS,
            "rules": shown,
            "total": len(rows),
            "page": page,
            "pages": max(1, -(-len(rows) // PAGE)),
        }
        columns = ("number", "rule", "type", "confidence", "correct", "predicted")
        return View("rules", "Rules", values, columns, [[one[x] for x in columns] for one in shown])

    def rule(self, number: int) -> View:
        """Show a rule by its number, from 1: its predictions, and the rules beside it."""
        if not 1 <= number <= len(self.rules):
            raise InputError(f"rule {number}: expected 1 to {len(self.rules):,}")
        row = number - 1
        (one,) = self._listed(np.array([row]))
        limits: dict[str, Any] = {"limit": _INSTANCES, "threads": 1}
        meaning = self.engine.semantics
        # what is new is of interest first
        found = [
            one
            for known in (False, True)
            for one in instances(self.graph, self.rules, row, meaning, known=known, **limits)
        ]
        predictions: list[dict[str, Any]] = [
            {
                "fact": self._named(each.fact),
                "known": each.known,
                "body": [self._named(fact) for fact in each.body],
            }
            for each in found
        ]
        values = {
            "rule": one,
            "predictions": predictions,
            "general": self._listed(more_general(self.rules, row)[:_BESIDE]),
            "special": self._listed(more_special(self.rules, row)[:_BESIDE]),
        }
        rows = [[*each["fact"], int(each["known"])] for each in predictions]
        columns = ("head", "relation", "tail", "known")
        return View("rule", f"Rule {number:,}", values, columns, rows)

    # --- parts ---------------------------------------------------------------------------------

    def _strategy(self, name: str) -> Strategy:
        if not name:
            return next(iter(self.strategies.values()))
        if name not in self.strategies:
            expected = f"expected one of {', '.join(self.strategies)}"
            raise InputError(f"{name}: {expected}{nearest(name, self.strategies)}")
        return self.strategies[name]

    def _keys(self, entity: int) -> dict[int, int]:
        """Return how many facts an entity has by each step key."""
        facts = self.graph.facts
        first, last = facts.entity_ptr[entity : entity + 2]
        counts = np.diff(facts.segment_ptr[first : last + 1])
        return dict(zip(facts.segment_key[first:last].tolist(), counts.tolist(), strict=True))

    def _entities(
        self, fact: tuple[int, int, int], chosen: Sequence[Strategy], stop: np.ndarray | None
    ) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the candidates of a query, which are known, and their scores by each strategy."""
        head, relation, tail = fact
        direction, entity = (1, tail) if head == MISSING else (0, head)
        # known answers are targets, so they have scores, and the pool is that of the others
        answers = self.graph.facts.step(entity, 2 * relation + direction)
        query = Queries(
            np.array([relation], np.int32),
            np.array([direction], np.uint8),
            np.array([entity], np.int32),
            np.array([0, len(answers)], np.int64),
            answers,
            np.full(len(answers), -1, np.int32),
        )
        (firings,) = self.engine.apply(
            query,
            self.graph.facts,
            top_x=self.top_x,
            best=best_rules(chosen),
            complete=any(one.complete for one in chosen),
            threads=1,
            stop=stop,
        )
        scores = score(firings, chosen)
        shown = [one.display(firings, each) for one, each in zip(chosen, scores, strict=True)]
        names = [self.graph.entities[i] for i in firings.candidate.tolist()]
        return names, np.isin(firings.candidate, answers), np.array(shown)

    def _relations(
        self, fact: tuple[int, int, int], chosen: Sequence[Strategy]
    ) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the relations between two entities, which are known, and their scores."""
        pair = np.array([fact[::2]], np.int32)
        found = [
            next(rank_relations(self.engine, pair, one, top_k=0, show_known=True, threads=1))
            for one in chosen
        ]
        every = np.unique(np.concatenate([one.candidates.entity for one in found]))
        known, scores = np.zeros(len(every), np.bool_), np.zeros((len(found), len(every)))
        for row, one in zip(scores, found, strict=True):
            at = np.searchsorted(every, one.candidates.entity)
            known[at], row[at] = one.known, one.candidates.score
        return [self.graph.relations[i] for i in every.tolist()], known, scores

    def _standing(self, strategy: Strategy, score: float, low: int, high: int) -> dict[str, Any]:
        """Describe where a candidate ranks; `low` to `high` if its score is tied."""
        calibration = self._calibrations.get(strategy.name)
        probability = None if calibration is None else float(calibration(np.array([score]))[0])
        rank = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return {"rank": rank, "score": score, "probability": probability, "tied": low != high}

    def _named(self, fact: tuple[int, int, int]) -> tuple[str, str, str]:
        head, relation, tail = fact
        return self.graph.entities[head], self.graph.relations[relation], self.graph.entities[tail]

    def _text(self, row: int) -> str:
        """Return the text of a rule with labels."""
        return anyburl.format_rule(self.rules.rule(row).labelled(self.graph.labels))

    def _listed(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """Describe rules for a table."""
        return list(self._described(rows))

    def _described(self, rows: np.ndarray) -> Iterator[dict[str, Any]]:
        columns = self.rules.listed(rows)
        for i, row in enumerate(rows.tolist()):
            counts = {
                name: None if np.ma.is_masked(columns[name][i]) else int(columns[name][i])
                for name in ("correct", "predicted")
            }
            yield {
                "number": row + 1,
                "confidence": float(columns["confidence"][i]),
                "length": int(columns["length"][i]),
                "shown": self._text(row),
                **{name: columns[name][i] for name in ("rule", "type", "relation")},
                **counts,
            }


def _ranks(scores: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last filtered rank that ties allow: int64[n] each.

    Known answers do not count; each has the rank that it would have beside the others.
    """
    others = np.sort(-scores[~known])
    better = np.searchsorted(others, -scores, "left")
    tied = np.searchsorted(others, -scores, "right") - better
    return better + 1, better + np.where(known, tied + 1, tied)
