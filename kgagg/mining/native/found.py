"""Mined rules as rows, and how they become a rule set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgagg.graph.graph import Graph
from kgagg.rules.confidence import Confidence, types_of
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import CYCLIC, ZERO

# A row has the columns of a rule set, but for two: `body` is the code of the body (see `Codes`),
# and `error` the standard error of correct / predicted, which is NaN when these are exact.
FOUND = np.dtype(
    [
        ("kind", np.uint8),
        ("flags", np.uint8),
        ("relation", np.int32),
        ("head_constant", np.int32),
        ("body_constant", np.int32),
        ("body", np.int64),
        ("predicted", np.int32),
        ("correct", np.int32),
        ("error", np.float32),
    ]
)


# no more rules are ever kept: mining and applying so many takes about 4 GB
MOST = 1 << 23


@dataclass(frozen=True)
class Thresholds:
    """What a rule must reach to be kept; the defaults are AnyBURL's.

    Parameters
    ----------
    correct : int
        The minimum number of correct predictions.
    confidence : float
        The minimum of correct / predicted.
    zero : int
        A zero rule must be correct more often than this.
    """

    correct: int = 2
    confidence: float = 1e-4
    zero: int = 100


class Codes:
    """Bodies as whole numbers: their step keys, each plus one, are the digits.

    Parameters
    ----------
    keys : int
        Number of step keys.
    """

    def __init__(self, keys: int) -> None:
        self.base = keys + 1

    @property
    def longest(self) -> int:
        """The length of the longest bodies that have a code."""
        length = 0
        while self.base ** (length + 1) < 2**63:
            length += 1
        return length

    def encode(self, bodies: np.ndarray) -> np.ndarray:
        """Return the codes of `bodies`, int32[n, length] with -1 behind the end: int64[n]."""
        codes = np.zeros(len(bodies), np.int64)
        for step in bodies.T:
            codes = np.where(step < 0, codes, codes * self.base + step + 1)
        return codes

    def lengths(self, codes: np.ndarray) -> np.ndarray:
        """Return how many steps the bodies have: int64[n]."""
        firsts = np.array([self.base**i for i in range(self.longest)])
        return np.searchsorted(firsts, codes, side="right")

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return bodies as int32[n, longest of them], with -1 behind the end."""
        lengths = self.lengths(codes)
        bodies = np.full((len(codes), lengths.max(initial=1)), -1, np.int32)
        for step in range(bodies.shape[1]):
            rows = np.flatnonzero(lengths > step)
            bodies[rows, lengths[rows] - 1 - step] = codes[rows] % self.base - 1
            codes = codes // self.base
        return bodies

    def turned(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes of the bodies walked from their end: int64[n]."""
        result = np.zeros(len(codes), np.int64)
        while codes.any():
            key = codes % self.base - 1
            result = np.where(key < 0, result, result * self.base + (key ^ 1) + 1)
            codes = codes // self.base
        return result


def by_use(found: np.ndarray) -> np.ndarray:
    """Put rules in the order of their use: those with two variables or none in the body first.

    The rest by the number of correct predictions, then by confidence.

    Parameters
    ----------
    found : FOUND[n]

    Returns
    -------
    FOUND[n]
    """
    share = found["correct"] / found["predicted"]
    first = np.isin(found["kind"], (CYCLIC, ZERO))
    return np.asarray(found[np.lexsort((-share, -found["correct"], ~first))])


def rule_set(found: np.ndarray, graph: Graph, source: str) -> tuple[RuleSet, np.ndarray]:
    """Make a rule set of mined rules.

    Of rules with equal confidence those with more correct predictions come first, then those with
    shorter bodies.

    Parameters
    ----------
    found : FOUND[n]
        Distinct rules.
    graph : Graph
    source : str
        The name of the file.

    Returns
    -------
    rules : RuleSet
    error : float32[n]
        The standard error of correct / predicted of each, NaN if it is exact.
    """
    codes = Codes(2 * len(graph.relations))
    confidence = Confidence()
    types = types_of(found["kind"], found["head_constant"])
    values = confidence.of(types, found["predicted"], found["correct"])
    identity = ("body_constant", "head_constant", "flags", "relation", "body")
    order = np.lexsort((*(found[name] for name in identity), -found["correct"], -values))
    found, values = found[order], values[order]
    bodies, body = np.unique(found["body"], return_inverse=True)
    keys = codes.decode(bodies)
    names = ("kind", "flags", "relation", "head_constant", "body_constant", "predicted", "correct")
    columns: dict[str, Any] = {name: np.ascontiguousarray(found[name]) for name in names}
    rules = RuleSet(
        **columns,
        body=body.astype(np.int32),
        confidence=values,
        line=np.arange(1, len(found) + 1, dtype=np.int32),
        source=np.zeros(len(found), np.uint8),
        body_ptr=np.concatenate([[0], np.cumsum(codes.lengths(bodies))]),
        body_keys=keys[keys >= 0],
        written_key=np.empty(0, np.int64),
        written_ptr=np.zeros(1, np.int64),
        written_blob=np.empty(0, np.uint8),
        entities=graph.entities,
        relations=graph.relations,
        sources=(source,),
        settings=confidence,
    )
    return rules, found["error"]
