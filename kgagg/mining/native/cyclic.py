"""Cyclic rules: the bodies that connect facts are found first, then counted, best first.

All bodies of one and two steps are counted. Longer ones are candidates if they connect two facts of
a relation or more, which is found out by searching paths between the entities of its facts; for a
relation whose search would take too long only of a sample. Candidates are counted in the order of
the confidence that can be guessed from the number of walks along pairs of steps, as many as the
work that is allowed for a length lets.

A body and its reverse predict the same pairs, so only one of the two is walked, and what it
predicts is compared with the facts in both directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kgagg.graph.graph import Graph
from kgagg.mining.bodies import ALL, BodyCounter
from kgagg.mining.native import kernels as _kernels
from kgagg.mining.native.budget import Budget
from kgagg.mining.native.found import FOUND, MOST, Codes, Thresholds
from kgagg.rules.shapes import CYCLIC, NONE_ID

# how many bodies are counted together
_BATCH = 128
# bodies are counted best first in blocks of this many, and within a block by their first steps
_BLOCK = 1 << 13
# at most so many bodies of one length are remembered while the facts of a relation are searched
_ROOM = 1 << 20
# what part of the work allowed for a length goes into the search for its bodies
_SEARCH = 1 / 8
# a body that meets more entities than this is counted for a sample of those it begins at
SAMPLE = 1 << 22


class Cyclic:
    """The search for the cyclic rules of a graph.

    Parameters
    ----------
    graph : Graph
    thresholds : Thresholds
    budget : Budget
    sample : int
        A body of three or more steps that meets more entities than this is counted for a sample of
        those it begins at.

    Attributes
    ----------
    found : list of FOUND[*]
    rules : int
        How many these are; no more bodies are counted when they are `MOST`.
    """

    def __init__(
        self, graph: Graph, thresholds: Thresholds, budget: Budget, sample: int = SAMPLE
    ) -> None:
        self.graph, self.thresholds, self.budget, self.sample = graph, thresholds, budget, sample
        self.keys = 2 * len(graph.relations)
        self.codes = Codes(self.keys)
        self.found: list[np.ndarray] = []
        self.rules = 0
        self._counter = BodyCounter(graph, budget.threads)
        # entities in the order in which samples take them
        self._turn = np.empty(len(graph.entities), np.int64)
        self._turn[np.argsort(scrambled(np.arange(len(graph.entities))))] = np.arange(
            len(graph.entities)
        )
        self._count_walks()

    def _count_walks(self) -> None:
        """Count the walks of one step, and of two, and those from each entity."""
        adjacency = self.graph.adjacency
        entities = len(self.graph.entities)
        sizes = np.diff(adjacency.segment_ptr)
        owner = np.repeat(np.arange(entities), np.diff(adjacency.entity_ptr))
        steps = sparse.csr_array(
            (sizes.astype(np.float64), (owner, adjacency.segment_key)), shape=(entities, self.keys)
        )
        self._singles = np.asarray(steps.sum(axis=0))
        # a step that ends at an entity is the step back from there
        self._pairs = (steps.T @ steps).toarray()[np.arange(self.keys) ^ 1]
        self._degree = np.diff(adjacency.segment_ptr[adjacency.entity_ptr])
        self._edge_key = np.repeat(adjacency.segment_key, sizes)
        edges = np.repeat(np.arange(entities), self._degree)
        reach = np.bincount(edges, self._degree[adjacency.neighbours], minlength=entities)
        self._reach = reach.astype(np.int64)

    def count_short(self, longest: int) -> None:
        """Count all bodies of one step, and of two if `longest` is not one."""
        for bodies in (np.flatnonzero(self._singles)[:, None], np.argwhere(self._pairs))[:longest]:
            self.budget.state = "rules with one and two body atoms"
            codes = self.codes.encode(bodies)
            self._count(codes[codes <= self.codes.turned(codes)], ALL, None)

    def count_long(self, length: int, work: int) -> dict[str, Any]:
        """Search and count bodies of `length` steps, three or more, best first.

        Parameters
        ----------
        length : int
        work : int
            How much work it may be.

        Returns
        -------
        dict
            For the record: ``found``, how many bodies (a body and its reverse are one);
            ``counted``, how many of these; ``sampled``, for how many relations the bodies were
            searched in a sample of the facts.
        """
        before = self.budget.spent
        part = max(int(_SEARCH * work) // len(self.graph.relations), 1)
        tasks = [(length, relation, part) for relation in range(len(self.graph.relations))]
        searched = list(self.budget.in_order(self._search, tasks, lambda result: result[3]))
        codes = self._best_first(searched)
        counted, first = 0, 0
        while first < len(codes) and counted == first:
            left = work - (self.budget.spent - before)
            counted += self._count(codes[first : first + _BLOCK], self.sample, left)
            first = min(first + _BLOCK, len(codes))
        return {
            "length": length,
            "found": len(codes),
            "counted": counted,
            "sampled": sum(not complete for _, _, complete, _ in searched),
        }

    def _search(self, task: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, bool, int]:
        """Find the bodies of one length that connect facts of one relation.

        Returns
        -------
        codes : int64[n]
        correct : float64[n]
            How many facts each connects, as estimated from those that were searched.
        complete : bool
            Whether all facts were searched, and all bodies remembered.
        work : int
            How much work it was.
        """
        length, relation, work = task
        adjacency, train = self.graph.adjacency, self.graph.train
        pairs = np.unique(train[train[:, 1] == relation][:, ::2], axis=0)
        pairs = pairs[np.argsort(scrambled(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]))]
        codes, counts, searched, forgotten, left = _kernels.connections(
            adjacency.entity_ptr,
            adjacency.segment_ptr,
            adjacency.neighbours,
            self._edge_key,
            self._reach,
            pairs,
            length,
            self.codes.base,
            work,
            _ROOM,
        )
        enough = counts >= self.thresholds.correct
        scale = len(pairs) / max(searched, 1)
        complete = searched == len(pairs) and not forgotten
        return codes[enough], counts[enough] * scale, complete, work - left

    def _best_first(self, searched: list[tuple[np.ndarray, np.ndarray, bool, int]]) -> np.ndarray:
        """Order the bodies that were found, or their reverse, by usefulness: int64[n]."""
        if not searched:
            return np.empty(0, np.int64)
        codes = np.concatenate([codes for codes, *_ in searched])
        correct = np.concatenate([correct for _, correct, *_ in searched])
        value = correct * correct / (self._guess(codes) + 5)
        unique, place = np.unique(np.minimum(codes, self.codes.turned(codes)), return_inverse=True)
        best = np.zeros(len(unique))
        np.maximum.at(best, place, value)
        return np.asarray(unique[np.argsort(-best, kind="stable")])

    def _guess(self, codes: np.ndarray) -> np.ndarray:
        """Guess how many pairs bodies predict: float64[n].

        The number of walks is that of a chain of steps each of which depends on the one before;
        they end in a random pair of the entities that can be first and last.
        """
        bodies = self.codes.decode(codes)
        walks = self._singles[bodies[:, 0]]
        for step, following in zip(bodies.T, bodies.T[1:], strict=False):
            more = self._pairs[step, following] / self._singles[step]
            walks = np.where(following < 0, walks, walks * more)
        able = np.diff(self.graph.adjacency.key_ptr).astype(np.float64)
        last = bodies[np.arange(len(bodies)), self.codes.lengths(codes) - 1]
        pairs = able[bodies[:, 0]] * able[last ^ 1]
        return np.asarray(-pairs * np.expm1(-walks / pairs))

    def _count(self, codes: np.ndarray, bound: int, limit: int | None) -> int:
        """Count bodies and keep the rules they make; return how many bodies were counted."""
        bodies = self.codes.decode(codes)
        bodies = bodies[np.lexsort(bodies.T[::-1])]
        counted = 0
        tasks = ((bodies[i : i + _BATCH], bound) for i in range(0, len(bodies), _BATCH))
        for found, _ in self.budget.in_order(self._count_batch, tasks, lambda one: one[1], limit):
            self.found.append(found)
            self.rules += len(found)
            self.budget.rules += len(found)
            counted += _BATCH
            if self.rules >= MOST:
                break
        return min(counted, len(bodies))

    def _count_batch(self, task: tuple[np.ndarray, int]) -> tuple[np.ndarray, int]:
        """Count a few bodies, int32[n, length] in lexicographic order; return rules and work."""
        bodies, bound = task
        *counts, work = self._counter.count(
            bodies, self.budget.cancelled, turn=self._turn, bound=bound
        )
        if self.budget.cancelled[0]:
            return np.empty(0, FOUND), work
        return self._rules(bodies, *counts), work

    def _rules(
        self, bodies: np.ndarray, domain: np.ndarray, predicted: np.ndarray, correct: np.ndarray
    ) -> np.ndarray:
        """Make rules of the counts, those that reach the thresholds: FOUND[n]."""
        codes = self.codes.encode(bodies)
        turned = self.codes.turned(codes)
        body, key = np.nonzero(correct.sum(axis=0) >= self.thresholds.correct)
        code = np.where(key & 1, turned[body], codes[body])
        # no rule has its head as body, and a body that is its own reverse was compared twice
        keep = code != (key & ~1) + 1
        keep &= (codes[body] != turned[body]) | (key & 1 == 0)
        body, key, code = body[keep], key[keep], code[keep]
        halves = predicted[:, body].astype(np.float64), correct[:, body, key].astype(np.float64)
        part, whole = domain[body, 1], domain[body, 0]
        scale = whole / part
        found = np.empty(len(body), FOUND)
        found["kind"], found["flags"], found["relation"] = CYCLIC, 0, key >> 1
        found["head_constant"] = found["body_constant"] = NONE_ID
        found["body"] = code
        found["predicted"] = np.rint(halves[0].sum(axis=0) * scale)
        found["correct"] = np.rint(halves[1].sum(axis=0) * scale)
        # two halves of a sample show how much it may err; there is less to err about what is left
        shares = halves[1] / np.maximum(halves[0], 1)
        error = abs(shares[0] - shares[1]) / 2 * np.sqrt(1 - part / whole)
        found["error"] = np.where(part < whole, error, np.nan)
        share = found["correct"] / found["predicted"]
        return np.asarray(found[share >= self.thresholds.confidence])


def scrambled(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of whole numbers, the same on every machine: uint64[n]."""
    mixed = numbers.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
