"""Graphs and rule sets that are written down in a test, and what the engine says about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from naive import Candidate, Fact, Query

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.engine.semantics import Semantics
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules.confidence import Confidence
from kgagg.rules.reading import Reader
from kgagg.rules.ruleset import RuleSet


def make_graph(
    facts: Iterable[Fact], entities: Sequence[str] = (), relations: Sequence[str] = ()
) -> Graph:
    """A graph whose train split is `facts`; names are numbered as given, then as they appear."""
    facts = list(facts)
    names = Vocabulary.from_names([*entities, *(e for h, _, t in facts for e in (h, t))])
    kinds = Vocabulary.from_names([*relations, *(r for _, r, _ in facts)])
    none = np.empty((0, 3), np.int32)
    train = make_triples(names, kinds, facts)
    return Graph.indexed(names, kinds, train, none, none, digest="")


def make_triples(entities: Vocabulary, relations: Vocabulary, facts: Iterable[Fact]) -> np.ndarray:
    """The facts as int32[n, 3]."""
    rows = [(entities.id(h), relations.id(r), entities.id(t)) for h, r, t in facts]
    assert all(min(row) >= 0 for row in rows)
    return np.array(rows, np.int32).reshape(-1, 3)


def make_rules(graph: Graph, lines: Iterable[str], confidence: Confidence) -> RuleSet:
    """Read lines of a rule file."""
    reader = Reader((graph.entities, graph.relations), confidence, strict=True, threads=1)
    text = "".join(f"{line}\n" for line in lines)
    reader.read_blocks([text.encode()], Path("rules"), 0)
    return RuleSet.from_reader(reader, ("rules",))


def make_queries(
    graph: Graph, queries: Sequence[Query], targets: Sequence[Iterable[str]]
) -> Queries:
    """Queries in the given order, each with its targets."""
    wanted = [sorted(map(graph.entities.id, names)) for names in targets]
    target = np.array([entity for names in wanted for entity in names], np.int32)
    return Queries(
        np.array([graph.relations.id(relation) for _, relation, _ in queries], np.int32),
        np.array([direction for direction, _, _ in queries], np.uint8),
        np.array([graph.entities.id(entity) for *_, entity in queries], np.int32),
        np.cumsum([0, *map(len, wanted)], dtype=np.int64),
        target,
        np.full(len(target), -1, np.int32),
    )


@dataclass(frozen=True)
class World:
    """A graph with rules and what is known."""

    graph: Graph
    rules: RuleSet
    known: Adjacency

    @classmethod
    def make(
        cls,
        facts: Iterable[Fact],
        lines: Iterable[str],
        confidence: Confidence,
        known: Iterable[Fact] | None = None,
        entities: Sequence[str] = (),
        relations: Sequence[str] = (),
    ) -> World:
        """Write a world down: `known` is what is no candidate, the facts if it is not given."""
        graph = make_graph(facts, entities, relations)
        adjacency = graph.adjacency
        if known is not None:
            size = len(graph.entities), len(graph.relations)
            triples = make_triples(graph.entities, graph.relations, known)
            adjacency = Adjacency.build(triples, *size)
        return cls(graph, make_rules(graph, lines, confidence), adjacency)

    def apply(self, queries: Queries, meaning: str | Semantics, **options: Any) -> list[Firings]:
        """Apply the rules to queries: the chunks."""
        return list(Engine(self.graph, self.rules, meaning).apply(queries, self.known, **options))

    def candidates(self, chunks: Iterable[Firings]) -> Iterator[list[Candidate]]:
        """The candidates of one query after the other, in the order of MAX+, by name."""
        for firings in chunks:
            for start, stop in zip(firings.query_ptr[:-1], firings.query_ptr[1:], strict=True):
                yield [
                    Candidate(
                        self.graph.entities[firings.candidate[row]],
                        firings.rules[firings.rule_ptr[row] : firings.rule_ptr[row + 1]].tolist(),
                        int(firings.level[row]),
                    )
                    for row in range(start, stop)
                ]


def good_and_bad(folder: Path, test: str = "a1\tr\tb2\n") -> Engine:
    """Twenty entities, of which valid shows that `good` predicts and the surer `bad` does not."""
    train, valid = [], []
    for i in range(20):
        train += [f"a{i}\tgood\tb{i % 7}", f"a{i}\tbad\tc{i % 5}", f"z{i}\tr\ty{i}"]
        valid += [f"a{i}\tr\tb{i % 7}"]
    folder.mkdir(exist_ok=True)
    (folder / "train.txt").write_text("\n".join(train) + "\n")
    (folder / "valid.txt").write_text("\n".join(valid) + "\n")
    (folder / "test.txt").write_text(test)
    (folder / "rules").write_text(
        "100\t60\t0.6\tr(X,Y) <= bad(X,Y)\n100\t50\t0.5\tr(X,Y) <= good(X,Y)\n"
    )
    return Engine.open(folder, folder / "rules")
