"""Instances of a rule: facts that it predicts, with the facts of train that make it fire."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from kgagg.engine.semantics import Semantics
from kgagg.explanation.groundings import Fact, groundings
from kgagg.graph.graph import Graph
from kgagg.mining.counting import by_direction, predictions, unbounded
from kgagg.rules.ruleset import RuleSet


class Instance(NamedTuple):
    """A fact that a rule predicts.

    Attributes
    ----------
    fact : (head, relation, tail)
    known : bool
        Whether train has it.
    body : tuple of (head, relation, tail)
        One way in which the rule fires.
    """

    fact: Fact
    known: bool
    body: tuple[Fact, ...]


def instances(
    graph: Graph,
    rules: RuleSet,
    row: int,
    meaning: str | Semantics = "anyburl",
    *,
    limit: int = 3,
    known: bool | None = None,
    threads: int | None = None,
) -> list[Instance]:
    """Return some facts that a rule predicts, correct ones first.

    Parameters
    ----------
    graph : Graph
    rules : RuleSet
        Over the vocabularies of `graph`.
    row : int
        The rule.
    meaning : str or Semantics
        Which entities of a grounding may coincide.
    limit : int
        How many; 0 for all.
    known : bool, optional
        Only facts that are in train, or only those that are not.
    threads : int, optional
    """
    chosen = unbounded(meaning)
    facts = predictions(rules, graph, row, chosen, threads)
    correct = graph.adjacency.contains(facts)
    order = np.argsort(~correct, kind="stable")
    if known is not None:
        order = order[correct[order] == known]
    ((_, direction),) = by_direction(rules, np.array([row]))
    found = []
    for i in order[: limit or None].tolist():
        head, relation, tail = facts[i].tolist()
        ways = groundings(graph, rules, row, head, tail, chosen, direction)
        body = next(islice(ways, 1), ())
        found.append(Instance((head, relation, tail), bool(correct[i]), body))
    return found
