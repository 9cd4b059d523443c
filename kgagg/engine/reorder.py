"""Kernels that put rules and candidates into another order."""

from __future__ import annotations

import numpy as np

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__)
inner_jit = inner_kernels()


@inner_jit
def _precedes(rule_ptr, rules, level, one, other):
    """Compare two candidates by MAX+: negative if `one` comes first, 0 for a tie."""
    i, j = rule_ptr[one], rule_ptr[other]
    while i < rule_ptr[one + 1] and j < rule_ptr[other + 1]:
        a, b = level[rules[i]], level[rules[j]]
        if a != b:
            return -1 if a < b else 1
        i += 1
        j += 1
    return int(j < rule_ptr[other + 1]) - int(i < rule_ptr[one + 1])


@inner_jit
def sort(values, start, stop):
    """Sort a part that is nearly sorted: Shell's method, which compiles faster than a call."""
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, stop):
            value, at = values[i], i
            while at >= start + gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3


@jit
def reorder(query_ptr, rule_ptr, rules, level, weight):
    """Put the rules of each candidate, and the candidates of each query, into another order.

    Parameters
    ----------
    query_ptr : int64[queries + 1]
    rule_ptr : int64[candidates + 1]
    rules : int32[rules kept]
    level : int32[all rules]
        The new order of the rules; equal for rules that MAX+ does not distinguish.
    weight : float64[all rules]

    Returns
    -------
    rules : int32[rules kept]
        Those of a candidate by ascending level.
    strength : float64[candidates]
        Their summed weights.
    place : int32[candidates]
        The rank in the order of MAX+ within the query, equal for ties.
    """
    result = np.empty_like(rules)
    strength = np.zeros(len(rule_ptr) - 1)
    place = np.empty(len(rule_ptr) - 1, np.int32)
    packed = np.empty(len(rules), np.int64)
    for row in range(len(rule_ptr) - 1):
        start, stop = rule_ptr[row], rule_ptr[row + 1]
        for i in range(start, stop):
            packed[i] = (np.int64(level[rules[i]]) << 32) | rules[i]
        sort(packed, start, stop)
        for i in range(start, stop):
            result[i] = packed[i] & 0xFFFFFFFF
            strength[row] += weight[result[i]]
    order = np.empty((2, len(strength)), np.int64)
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        for row in range(first, last):
            order[0, row] = row
        # bottom-up merge sort
        source, width = 0, 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                middle, high = min(low + width, last), min(low + 2 * width, last)
                i, j = low, middle
                for k in range(low, high):
                    if j == high or (
                        i < middle
                        and _precedes(rule_ptr, result, level, order[source, i], order[source, j])
                        <= 0
                    ):
                        order[1 - source, k] = order[source, i]
                        i += 1
                    else:
                        order[1 - source, k] = order[source, j]
                        j += 1
            source, width = 1 - source, 2 * width
        for k in range(first, last):
            row = order[source, k]
            place[row] = k - first
            if k > first:
                before = order[source, k - 1]
                if _precedes(rule_ptr, result, level, before, row) == 0:
                    place[row] = place[before]
    return result, strength, place
