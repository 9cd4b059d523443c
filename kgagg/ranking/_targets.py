"""Kernels that rank targets among the candidates of a query."""

from __future__ import annotations

import numpy as np

from kgagg.jit import kernels

jit = kernels(__file__, allocates=False)


@jit
def target_rows(query_ptr, candidate, target_ptr, target, rows):
    """Put the row of each target that is a candidate in `rows`, int64[targets]."""
    for query in range(len(query_ptr) - 1):
        for t in range(target_ptr[query], target_ptr[query + 1]):
            for row in range(query_ptr[query], query_ptr[query + 1]):
                if candidate[row] == target[t]:
                    rows[t] = row
                    break


@jit
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
        Priorities are hash codes, and the order follows from the buckets of a hash table of Java
        that has room for those with the same score.
    rows : int64[targets]
        The row of each target (see `target_rows`).
    others : int64[candidates of a query]
        Working space.
    ranks : int32[2, strategies, targets]
        Takes the optimistic and the pessimistic rank, except for targets that are not candidates.
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
