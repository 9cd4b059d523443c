"""Kernel of the strategies: sums over the best rules of each candidate."""

from __future__ import annotations

import numpy as np

from kgagg.jit import kernels

jit = kernels(__file__)


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
