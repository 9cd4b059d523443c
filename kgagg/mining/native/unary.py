"""Rules with one variable and at most one body atom: all of them, exactly."""

from __future__ import annotations

import numpy as np

from kgagg.graph.graph import Graph
from kgagg.mining.native import kernels as _kernels
from kgagg.mining.native.budget import Budget
from kgagg.mining.native.found import FOUND, Codes, Thresholds
from kgagg.rules.shapes import CONSTANT, DANGLING, ME_ID, NONE_ID, SIDE, ZERO

# heads are cut into pieces that cost about this many steps
_PIECE = 1 << 24


def mine_unary(
    graph: Graph, thresholds: Thresholds, most: int | None, budget: Budget
) -> tuple[np.ndarray, int]:
    """Find the constant, dangling, zero and reflexive rules with at most one body atom.

    The entities of a rule's grounding differ, except that the constant of the head may be that of
    the body. A zero rule predicts its constant for every entity of train.

    Parameters
    ----------
    graph : Graph
    thresholds : Thresholds
    most : int or None
        Keep at most this many, those with most correct predictions, then highest confidence.
    budget : Budget

    Returns
    -------
    found : FOUND[n]
    left_out : int
        How many rules were not kept.
    """
    adjacency = graph.adjacency
    facts = (
        adjacency.entity_ptr,
        adjacency.segment_key,
        adjacency.segment_ptr,
        adjacency.neighbours,
    )
    keys = 2 * len(graph.relations)
    features = _kernels.features(*facts, keys)
    owner = features[0]
    members, heads, slots = _heads(graph, owner)
    zero = _zero_rules(graph, heads, slots, thresholds)

    def search(task: tuple[np.ndarray, int, int]) -> tuple[np.ndarray, np.ndarray]:
        part, floor, rows = task
        levels = np.zeros(_kernels.LEVELS, np.int64)
        found = np.empty((rows, 4), np.int32)
        _kernels.unary_rules(
            *facts,
            *features,
            members,
            part,
            thresholds.correct,
            thresholds.confidence,
            floor,
            found,
            levels,
        )
        return found, levels

    enough = np.flatnonzero(heads[:, 1] - heads[:, 0] >= thresholds.correct)
    degree = np.diff(adjacency.segment_ptr[adjacency.entity_ptr])
    steps = np.concatenate([[0], np.cumsum(degree[members])])
    cost = np.cumsum(steps[heads[enough, 1]] - steps[heads[enough, 0]])
    cuts = np.flatnonzero(np.diff(cost // _PIECE)) + 1
    pieces = np.split(enough, cuts)
    # once to count, so that the second time no more is written than is kept
    counted = [levels for _, levels in budget.in_order(search, ((heads[p], 0, 0) for p in pieces))]
    total = np.sum(counted, axis=0, dtype=np.int64) + np.zeros(_kernels.LEVELS, np.int64)
    above = np.append(np.cumsum(total[::-1])[::-1], 0)
    floor = 0 if most is None else int(np.argmax(above <= most))
    tasks = (
        (heads[p], floor, int(levels[floor:].sum()))
        for p, levels in zip(pieces, counted, strict=False)
    )
    parts = [zero]
    for piece, (rows, _) in zip(pieces, budget.in_order(search, tasks), strict=False):
        parts.append(_rows(graph, rows, piece, heads, slots, owner))
        budget.rules += len(rows)
    return np.concatenate(parts), int(above[0] - above[floor])


def _heads(graph: Graph, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the heads with a constant: each segment, and the self-loops of each relation, twice.

    Returns
    -------
    members : int32[*]
    heads : int64[n, 4]
        See `kernels.unary_rules`.
    slots : int32[n]
        The step key from the variable of the head to its constant.
    """
    adjacency = graph.adjacency
    segments = len(adjacency.segment_key)
    segment = np.repeat(np.arange(segments), np.diff(adjacency.segment_ptr))
    loops = np.flatnonzero(adjacency.neighbours == owner[segment])
    loop_key = adjacency.segment_key[segment[loops]]
    order = np.argsort(loop_key, kind="stable")
    members = np.concatenate([adjacency.neighbours, adjacency.neighbours[loops[order]]])
    reflexive, starts = np.unique(loop_key[order], return_index=True)
    stops = np.append(starts[1:], len(order))
    heads = np.empty((segments + len(reflexive), 4), np.int64)
    heads[:segments, 0], heads[:segments, 1] = adjacency.segment_ptr[:-1], adjacency.segment_ptr[1:]
    heads[segments:, 0], heads[segments:, 1] = starts, stops
    heads[segments:, :2] += len(adjacency.neighbours)
    heads[:segments, 2], heads[segments:, 2] = owner, ME_ID
    heads[:segments, 3], heads[segments:, 3] = np.arange(segments), -1
    return members, heads, np.concatenate([adjacency.segment_key ^ 1, reflexive])


def _zero_rules(
    graph: Graph, heads: np.ndarray, slots: np.ndarray, thresholds: Thresholds
) -> np.ndarray:
    predicted = np.count_nonzero(np.diff(graph.adjacency.entity_ptr))
    correct = heads[:, 1] - heads[:, 0]
    enough = (correct > thresholds.zero) & (correct >= thresholds.confidence * predicted)
    found = _found(heads[enough], slots[enough])
    found["kind"], found["predicted"], found["correct"] = ZERO, predicted, correct[enough]
    return found


def _rows(
    graph: Graph,
    rows: np.ndarray,
    piece: np.ndarray,
    heads: np.ndarray,
    slots: np.ndarray,
    owner: np.ndarray,
) -> np.ndarray:
    """Turn what the kernel wrote into rules."""
    segments = len(owner)
    head, feature = piece[rows[:, 0]], rows[:, 1]
    found = _found(heads[head], slots[head])
    dangling = feature >= segments
    segment = np.where(dangling, 0, feature)
    key = np.where(dangling, feature - segments, graph.adjacency.segment_key[segment] ^ 1)
    found["kind"] = np.where(dangling, DANGLING, CONSTANT)
    found["body_constant"] = np.where(dangling, NONE_ID, owner[segment])
    found["body"] = Codes(2 * len(graph.relations)).encode(key[:, None])
    found["predicted"], found["correct"] = rows[:, 2], rows[:, 3]
    return found


def _found(heads: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Make rules with these heads, and without a body."""
    found = np.empty(len(heads), FOUND)
    found["relation"], found["head_constant"] = slots >> 1, heads[:, 2]
    found["flags"] = np.where(slots & 1, SIDE, 0)
    found["body_constant"], found["body"], found["error"] = NONE_ID, 0, np.nan
    return found
