"""Kernels of aggregation: sums over the best rules, ranks of targets, other orders of rules."""

from __future__ import annotations

import numpy as np

from kgagg._compile import inner_kernels, kernels

jit = kernels(__file__)
bare_jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels()


@jit
def top_sums(rule_ptr, rules, value, depths):
    """Sum a value over the first rules of each candidate, for several depths in one pass.

    Sums are taken in the order of the rules, so that equal rules give equal sums, bit for bit.

    Parameters
    ----------
    rule_ptr : int64[candidates + 1]
    rules : int32[rules kept]
    value : float64[all rules]
    depths : int64[depths]
        Ascending.

    Returns
    -------
    float64[depths, candidates]
    """
    sums = np.empty((len(depths), len(rule_ptr) - 1))
    for row in range(len(rule_ptr) - 1):
        start, stop = rule_ptr[row], rule_ptr[row + 1]
        at, total = start, 0.0
        for i in range(len(depths)):
            end = min(stop, start + depths[i])
            while at < end:
                total += value[rules[at]]
                at += 1
            sums[i, row] = total
    return sums


@bare_jit
def target_rows(query_ptr, candidate, target_ptr, target, rows):
    """Put the row of each target that is a candidate in `rows`, int64[targets]."""
    for query in range(len(query_ptr) - 1):
        for t in range(target_ptr[query], target_ptr[query + 1]):
            for row in range(query_ptr[query], query_ptr[query + 1]):
                if candidate[row] == target[t]:
                    rows[t] = row
                    break


@bare_jit
def rank_targets(
    query_ptr, candidate, scores, target_ptr, target, priority, hashed, rows, others, ranks
):
    """Rank the targets of each query among its candidates, without its other targets.

    Parameters
    ----------
    query_ptr : int64[queries + 1]
    candidate : int32[candidates]
    scores : float64[strategies, candidates]
    target_ptr : int64[queries + 1]
    target : int32[targets]
    priority : int32[entities] or int32[0]
        Among equal scores the lower priority comes first; equal ones are tied. Empty: all are.
    hashed : bool
        Priorities are hash codes, and what comes first is told by the buckets of a table of Java
        that has room for those with the same score.
    rows : int64[targets]
        The row of each target (see `target_rows`).
    others : int64[candidates of a query]
        Working space.
    ranks : int32[2, strategies, targets]
        Takes the optimistic and the pessimistic rank, but for targets that are no candidates.
    """
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        # all candidates, then without the targets among them
        for row in range(first, last):
            others[row - first] = row
        for t in range(target_ptr[query], target_ptr[query + 1]):
            if rows[t] >= 0:
                others[rows[t] - first] = -1
        count = 0
        for i in range(last - first):
            if others[i] >= 0:
                others[count] = others[i]
                count += 1
        for t in range(target_ptr[query], target_ptr[query + 1]):
            if rows[t] < 0:
                continue
            for s in range(len(scores)):
                own = scores[s, rows[t]]
                better, tied = 0, 0
                for i in range(count):
                    other = scores[s, others[i]]
                    if other > own:
                        better += 1
                    elif other == own:
                        tied += 1
                if tied > 0 and len(priority) > 0:
                    mask = np.int64(0x7FFFFFFF)
                    if hashed:
                        # a table begins with 16 buckets, and doubles when it is three quarters full
                        mask = np.int64(15)
                        while 4 * (tied + 1) > 3 * (mask + 1):
                            mask = 2 * mask + 1
                    mine, tied = priority[target[t]] & mask, 0
                    for i in range(count):
                        if scores[s, others[i]] == own:
                            theirs = priority[candidate[others[i]]] & mask
                            better += theirs < mine
                            tied += theirs == mine
                ranks[0, s, t] = 1 + better
                ranks[1, s, t] = 1 + better + tied


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
        The new order of the rules; equal for rules that MAX+ does not tell apart.
    weight : float64[all rules]

    Returns
    -------
    rules : int32[rules kept]
        Those of a candidate by ascending level.
    strength : float64[candidates]
        Their summed weights.
    place : int32[candidates]
        The place in the order of MAX+ within the query, equal for ties.
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
