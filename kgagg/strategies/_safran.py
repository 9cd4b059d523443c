"""Kernels of `kgagg.strategies.safran`."""

from __future__ import annotations

import numpy as np

from kgagg.engine.reorder import sort
from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__)
inner_jit = inner_kernels()


@jit
def sketch(sets, items, multiplier, offset, sketches):
    """Lower the minima of hashes: MinHash.

    Parameters
    ----------
    sets : int32[n]
    items : int64[n]
        An item of each of `sets`.
    multiplier, offset : uint64[hashes]
    sketches : uint16[sets, hashes]
        Changed in place.
    """
    for i in range(len(sets)):
        row = sketches[sets[i]]
        item = np.uint64(items[i])
        for k in range(len(multiplier)):
            value = np.uint16((multiplier[k] * item + offset[k]) >> np.uint64(48))
            row[k] = min(row[k], value)


@inner_jit
def _root(parent, one):
    while parent[one] != one:
        parent[one] = parent[parent[one]]
        one = parent[one]
    return one


# the top bit of each of four numbers of 16 bits, and the other bits
_TOP, _REST = np.uint64(0x8000800080008000), np.uint64(0x7FFF7FFF7FFF7FFF)


@inner_jit
def _equal(words, one, other):
    """Count the equal numbers of 16 bits in two rows of `words`, uint64[rows, hashes / 4].

    A number of the sum has its top bit if the difference in its place is not zero.
    """
    total = np.uint64(0)
    for k in range(words.shape[1]):
        x = words[one, k] ^ words[other, k]
        total += (~(((x & _REST) + _REST) | x) & _TOP) >> np.uint64(15)
    count = 0
    for lane in range(4):
        count += int((total >> np.uint64(16 * lane)) & np.uint64(0xFFFF))
    return count


@jit
def compare_block(words, number, kind, level, best, which):
    """Count the equal hashes of rules that are compared.

    The first rules are compared with each other. Each other one is compared with these, and of
    each kind the most similar is kept.

    Parameters
    ----------
    words : uint64[sets, hashes / 4]
        Sketches, four hashes in a word.
    number : int32[rules]
        The set of each rule.
    kind : uint8[rules]
    level : uint8[pairs of the first rules]
        Set here: row after row of the lower triangle.
    best : uint8[other rules, kinds]
        Set here: how many hashes are equal to those of the most similar rule of each kind.
    which : int32[other rules, kinds]
        Set here: which rule that is; the first of those that are equally similar.
    """
    first = len(number) - len(best)
    at = 0
    for i in range(first):
        for j in range(i):
            level[at] = _equal(words, number[i], number[j])
            at += 1
    for i in range(len(best)):
        best[i], which[i] = 0, 0
        for j in range(first):
            equal = _equal(words, number[first + i], number[j])
            if equal > best[i, kind[j]]:
                best[i, kind[j]], which[i, kind[j]] = equal, j


@jit
def scale_block(level, best, which, kind, scale, hashes, scaled, joined, other):
    """Set the levels at which pairs of rules join.

    Parameters
    ----------
    level, best, which, kind
        See `compare_block`.
    scale : float64[kinds, kinds]
        By which similarities of rules of two kinds are multiplied.
    hashes : int
        Of a sketch.
    scaled : uint8[pairs of the first rules]
        Set here, as are the next two.
    joined : uint8[other rules]
        Of each other rule the level at which it joins ...
    other : int32[other rules]
        ... this one of the first.
    """
    first, at = len(kind) - len(best), 0
    for i in range(first):
        for j in range(i):
            scaled[at] = min(hashes, int(level[at] * scale[kind[i], kind[j]]))
            at += 1
    for i in range(len(best)):
        joined[i], other[i] = 0, 0
        for k in range(best.shape[1]):
            value = min(hashes, int(best[i, k] * scale[kind[first + i], k]))
            if value > joined[i]:
                joined[i], other[i] = value, which[i, k]


@inner_jit
def _pairs(scaled, joined, other, hashes):
    """Return the pairs that join, int32[pairs, 2], by descending level, and levels: uint8."""
    first, at = 0, 0
    start = np.zeros(hashes + 2, np.int64)
    for value in scaled:
        start[hashes - value + 1] += 1
    for value in joined:
        start[hashes - value + 1] += 1
    start = np.cumsum(start)
    # of level 0 none is joined
    pairs, levels = np.empty((start[hashes], 2), np.int32), np.empty(start[hashes], np.uint8)
    while at < len(scaled):
        first += 1
        for j in range(first):
            value = scaled[at]
            at += 1
            if value > 0:
                to = start[hashes - value]
                pairs[to, 0], pairs[to, 1], levels[to] = first, j, value
                start[hashes - value] += 1
    for i in range(len(joined)):
        value = joined[i]
        if value > 0:
            to = start[hashes - value]
            pairs[to, 0], pairs[to, 1], levels[to] = first + 1 + i, other[i], value
            start[hashes - value] += 1
    return pairs, levels


@jit
def order_block(scaled, joined, other, hashes, count):
    """Put rules into an order in which clusters at every threshold are neighbours.

    Kruskal's method: pairs are joined by descending similarity, and the lists of what they join
    are put one after the other.

    Parameters
    ----------
    scaled, joined, other, hashes
        See `scale_block`.
    count : int
        How many rules there are.

    Returns
    -------
    order : int64[rules]
    gap : uint8[rules]
        The level at which a rule joins the one before it; 0 for never. Rules are in one cluster
        at a threshold if all levels between them are greater.
    """
    n = count
    pairs, levels = _pairs(scaled, joined, other, hashes)
    parent, last = np.arange(n), np.arange(n)
    following = np.full(n, -1)
    gap_before = np.zeros(n, np.uint8)
    for p in range(len(pairs)):
        a, b = _root(parent, pairs[p, 0]), _root(parent, pairs[p, 1])
        if a != b:
            parent[b] = a
            following[last[a]] = b
            gap_before[b] = levels[p]
            last[a] = last[b]
    order, gap = np.empty(n, np.int64), np.zeros(n, np.uint8)
    at = 0
    for i in range(n):
        if parent[i] == i:
            one = i
            while one >= 0:
                order[at], gap[at] = one, gap_before[one]
                one = following[one]
                at += 1
    return order, gap


@jit
def sweep(
    query_ptr,
    candidate,
    target_ptr,
    target,
    rule_ptr,
    rules,
    fixed,
    place,
    lowest,
    levels,
    harmonic,
):
    """Return the expected reciprocal rank of targets at every threshold.

    A rule counts at the thresholds at which no better rule of the candidate is in its cluster.
    Where two clusters meet, that with the better rule goes on and the best of the other ends.

    Parameters
    ----------
    query_ptr, candidate, target_ptr, target, rule_ptr, rules
        See `kgagg.engine.firings`.
    fixed : int64[all rules]
        Weights as whole numbers, so that sums are exact.
    place : int32[all rules]
        In the order of all blocks.
    lowest : uint8[powers, all rules]
        The lowest level among the 2**k places up to each place.
    levels : int
    harmonic : float64[candidates of a query + 1]
        See `kgagg.ranking.ties`.

    Returns
    -------
    float64[targets, levels + 1]
    """
    # long: one query from its rules to the ranks at all levels
    longest, most = 0, 0
    for query in range(len(query_ptr) - 1):
        longest = max(longest, query_ptr[query + 1] - query_ptr[query])
    for row in range(len(rule_ptr) - 1):
        most = max(most, rule_ptr[row + 1] - rule_ptr[row])
    scores = np.empty((longest, levels + 1), np.int64)
    is_target = np.empty(longest, np.bool_)
    by_place, by_level = np.empty((2, most + 1), np.int64)
    parent = np.empty(most + 1, np.int64)
    drop = np.empty(levels + 1, np.int64)
    result = np.zeros((len(target), levels + 1))
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        for row in range(first, last):
            start = rule_ptr[row]
            count = rule_ptr[row + 1] - start
            total = np.int64(0)
            drop[:] = 0
            for i in range(count):
                total += fixed[rules[start + i]]
                by_place[i] = (np.int64(place[rules[start + i]]) << 32) | i
                parent[i] = i
            sort(by_place, 0, count)
            joints = 0
            for i in range(1, count):
                low, high = by_place[i - 1] >> 32, by_place[i] >> 32
                power = 0
                while (2 << power) <= high - low:
                    power += 1
                value = min(lowest[power, high], lowest[power, low + (1 << power)])
                if value > 0:
                    by_level[joints] = (np.int64(levels - value) << 32) | i
                    joints += 1
            sort(by_level, 0, joints)
            for k in range(joints):
                i = by_level[k] & 0xFFFFFFFF
                a = _root(parent, by_place[i - 1] & 0xFFFFFFFF)
                b = _root(parent, by_place[i] & 0xFFFFFFFF)
                # rules stand by descending confidence
                better, worse = min(a, b), max(a, b)
                parent[worse] = better
                drop[levels - (by_level[k] >> 32)] += fixed[rules[start + worse]]
            for t in range(levels, -1, -1):
                scores[row - first, t] = total
                total -= drop[t]
            is_target[row - first] = False
        for t in range(target_ptr[query], target_ptr[query + 1]):
            for row in range(first, last):
                if candidate[row] == target[t]:
                    is_target[row - first] = True
        for t in range(target_ptr[query], target_ptr[query + 1]):
            for row in range(first, last):
                if candidate[row] == target[t]:
                    for level in range(levels + 1):
                        own, better, tied = scores[row - first, level], 0, 1
                        for other in range(last - first):
                            if not is_target[other]:
                                better += scores[other, level] > own
                                tied += scores[other, level] == own
                        mass = harmonic[better + tied] - harmonic[better]
                        result[t, level] = mass / tied
    return result


@jit
def cluster_sums(query_ptr, direction, rule_ptr, rules, fixed, cluster, stamps):
    """Sum the weights of the best rules of clusters: float64[candidates].

    Parameters
    ----------
    query_ptr, rule_ptr, rules
        See `kgagg.engine.firings`.
    direction : uint8[queries]
    fixed : int64[all rules]
    cluster : int32[2, all rules]
        By direction.
    stamps : int64
        How many clusters there are.
    """
    sums = np.empty(len(rule_ptr) - 1)
    seen = np.full(stamps, -1)
    for query in range(len(query_ptr) - 1):
        own = cluster[direction[query]]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            total = np.int64(0)
            for i in range(rule_ptr[row], rule_ptr[row + 1]):
                if seen[own[rules[i]]] != row:
                    seen[own[rules[i]]] = row
                    total += fixed[rules[i]]
            sums[row] = total
    return sums
