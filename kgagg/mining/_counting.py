"""Kernels that count what rules with one body atom, or none, predict."""

from __future__ import annotations

import numpy as np

from kgagg.graph.edges import find_segment, has_edge
from kgagg.jit import inner_kernels, kernels
from kgagg.rules.shapes import CONSTANT, DANGLING, ME_ID, ZERO

jit = kernels(__file__)
inner_jit = inner_kernels()


@inner_jit
def _leads_on(segment_ptr, neighbours, segment, one, two):
    """Return whether a segment has an entity other than `one` and `two`."""
    if segment < 0:
        return False
    size = segment_ptr[segment + 1] - segment_ptr[segment]
    for i in range(segment_ptr[segment], segment_ptr[segment] + min(size, 3)):
        if neighbours[i] != one and neighbours[i] != two:
            return True
    return False


@jit
def open_entities(entity_ptr, segment_key, segment_ptr, neighbours, keys, strict):
    """Count for each step key the entities that can take it; if `strict`, to another entity.

    Returns
    -------
    int64[keys]
    """
    count = np.zeros(keys, np.int64)
    for x in range(len(entity_ptr) - 1):
        for segment in range(entity_ptr[x], entity_ptr[x + 1]):
            if not strict or _leads_on(segment_ptr, neighbours, segment, x, x):
                count[segment_key[segment]] += 1
    return count


@jit
def count_unary(
    entity_ptr,
    segment_key,
    segment_ptr,
    neighbours,
    key_ptr,
    key_entities,
    open_count,
    entities,
    strict,
    kind,
    side,
    relation,
    head,
    end,
    step,
    predicted,
    correct,
):
    """Count what rules with a constant in the head, and at most one body atom, predict.

    Parameters
    ----------
    entity_ptr, ..., key_entities
        See `kgagg.graph.adjacency.Adjacency`.
    open_count : int64[keys]
        From `open_entities`.
    entities : int
        How many entities train has.
    strict : bool
        See `kgagg.engine.semantics.Semantics`.
    kind, side, relation, head, end, step : int[n]
        Kind of each rule, side of its variable, relation and constant of the head, constant of the
        body, step of the body.
    predicted, correct : int64[n]
        Filled.
    """
    # long: one pass over the rules, with the arrays of the graph and of the rules
    for rule in range(len(kind)):
        c, d, key = head[rule], end[rule], step[rule]
        # the step from the variable to the constant of the head
        out = 2 * relation[rule] + side[rule]
        facts = find_segment(entity_ptr, segment_key, c, out ^ 1) if c >= 0 else -1
        first, last = 0, 0
        if facts >= 0:
            first, last = segment_ptr[facts], segment_ptr[facts + 1]
        all_of_them, right = 0, 0
        if kind[rule] == ZERO:
            all_of_them, right = entities, last - first
            if c == ME_ID:
                for i in range(key_ptr[out], key_ptr[out + 1]):
                    x = key_entities[i]
                    right += has_edge(entity_ptr, segment_key, segment_ptr, neighbours, x, out, x)
        elif kind[rule] == CONSTANT and d >= 0:
            segment = find_segment(entity_ptr, segment_key, d, key ^ 1)
            if segment >= 0:
                at = first
                for i in range(segment_ptr[segment], segment_ptr[segment + 1]):
                    x = neighbours[i]
                    if x == c or (strict and x == d):
                        continue
                    all_of_them += 1
                    if c == ME_ID:
                        right += has_edge(
                            entity_ptr, segment_key, segment_ptr, neighbours, x, out, x
                        )
                    else:
                        while at < last and neighbours[at] < x:
                            at += 1
                        right += at < last and neighbours[at] == x
        elif kind[rule] == DANGLING:
            all_of_them = open_count[key]
            if c == ME_ID:
                for i in range(key_ptr[key], key_ptr[key + 1]):
                    x = key_entities[i]
                    segment = find_segment(entity_ptr, segment_key, x, key)
                    if not strict or _leads_on(segment_ptr, neighbours, segment, x, x):
                        right += has_edge(
                            entity_ptr, segment_key, segment_ptr, neighbours, x, out, x
                        )
            else:
                own = find_segment(entity_ptr, segment_key, c, key)
                if own >= 0 and (not strict or _leads_on(segment_ptr, neighbours, own, c, c)):
                    all_of_them -= 1
                back = find_segment(entity_ptr, segment_key, c, key ^ 1)
                if strict and back >= 0:
                    # those that can take the step to c, and to nobody else
                    for i in range(segment_ptr[back], segment_ptr[back + 1]):
                        x = neighbours[i]
                        segment = find_segment(entity_ptr, segment_key, x, key)
                        if x != c and not _leads_on(segment_ptr, neighbours, segment, x, c):
                            all_of_them -= 1
                for i in range(first, last):
                    x = neighbours[i]
                    segment = find_segment(entity_ptr, segment_key, x, key)
                    if x != c and segment >= 0:
                        right += not strict or _leads_on(segment_ptr, neighbours, segment, x, c)
        predicted[rule], correct[rule] = all_of_them, right
