"""Rules that are written down in a test, as the reader takes them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import (
    KINDS,
)

Names = tuple[Vocabulary, Vocabulary]


def names(entities: str, relations: str) -> Names:
    return Vocabulary.from_names(entities.split()), Vocabulary.from_names(relations.split())


def read(
    *files: str | bytes,
    graph: Names | None = None,
    confidence: Confidence | None = None,
    strict: bool = False,
    threads: int = 2,
) -> RuleSet:
    """Read texts as if they were files."""
    with TemporaryDirectory() as folder:
        paths = []
        for i, text in enumerate(files):
            paths.append(Path(folder) / f"{i}.rules")
            paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        return RuleSet.read(paths, graph, confidence, strict=strict, threads=threads)


def one(rule: str, graph: Names | None = None) -> tuple[str, RuleSet]:
    """Read one rule; return the name of its kind, or the reason for which it is unusable."""
    rules = read(f"10\t5\t0.5\t{rule}\n", graph=graph)
    if not len(rules):
        (reason,) = rules.report.unusable
        return reason, rules
    assert rules.text(0) == rule
    return KINDS[rules.kind[0]], rules


def atoms(rules: RuleSet) -> str:
    """The body of the first rule: the relation of each step, with "^" where it is walked back."""
    return " ".join(name + "^" * back for name, back in rules.rule(0).path)


def chain(terms: str) -> str:
    return ", ".join(f"r({left},{right})" for left, right in pairwise(terms))


HEADER = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size"
    "\tPCA Body size\tFunctional variable"
)


def amie(*rules: str, header: str = HEADER, statistics: str = "0.1\t0.5\t0.8\t4\t8\t5\t-1") -> str:
    log = "Loading files... \nStarting the mining phase... "
    lines = "".join(f"{rule}\t{statistics}\n" for rule in rules)
    return f"{log}{header}\nUsing 1 threads\n{lines}Mining done in 0.56 s\n106 rules mined.\n"


RULES = [
    "2000\t2\t0.001\th(X,cc) <= r(A,X)",
    "141\t2\t0.014184397163120567\th(cc,Y) <= r(Y,dd)",
    "10\t5\t0.5\th(X,Y) <= r(X,A), s(B,A), r(B,Y)",
    "5880\t324\t0.05510204081632653\tr(cc,Y) <= ",
    "8\t4\t0.5\th(X,me_myself_i) <= r(X,A)",
    "8\t4\t0.5\th(X,X) <= r(X,dd)",
    "8\t4\t0.5\th(X,Y) <= s(A,Y), r(X,A)",
    "h(X,Y) <= r(X,Y), s(X,Y)",
]


def many_rules(count: int = 3000) -> str:
    generator = np.random.default_rng(0)
    lines = []
    for i in range(count):
        predicted = int(generator.integers(1, 400))
        correct = int(generator.integers(0, predicted + 1))
        steps = ", ".join(
            f"r{generator.integers(9)}({a},{b})" for a, b in zip("XAB", "ABY", strict=True)
        )
        rule = f"h{i % 7}(X,Y) <= {steps}" if i % 3 else f"h(X,e{i % 50}) <= r(X,n(a){i})"
        lines.append(f"{predicted}\t{correct}\t{correct / predicted!r}\t{rule}\n")
    return "".join(lines)
