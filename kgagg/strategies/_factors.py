"""Kernels of `kgagg.strategies.factors`."""

from __future__ import annotations

import numpy as np

from kgagg.jit import kernels

jit = kernels(__file__)


@jit
def score(query_ptr, slot, rule_ptr, rules, value, discount, bias, bins):
    """Score candidates: the discounted values of their rules, and the bias of their bin.

    Parameters
    ----------
    query_ptr : int64[queries + 1]
    slot : int64[queries]
    rule_ptr : int64[candidates + 1]
    rules : int32[rules kept]
    value : float64[all rules]
    discount : float64[depth]
    bias : float64[slots + 1, bins]
        The last row counts for every slot.
    bins : uint8[candidates]

    Returns
    -------
    float64[candidates]
    """
    scores = np.empty(len(rule_ptr) - 1)
    for query in range(len(query_ptr) - 1):
        for row in range(query_ptr[query], query_ptr[query + 1]):
            start = rule_ptr[row]
            total = bias[slot[query], bins[row]] + bias[len(bias) - 1, bins[row]]
            for i in range(min(len(discount), rule_ptr[row + 1] - start)):
                total += discount[i] * value[rules[start + i]]
            scores[row] = total
    return scores


@jit
def learn(
    order, query_ptr, slot, target_ptr, target_row, used, rule_ptr, rules, weight, discount,
    bins, group, scale, rates, change, change_squares, bias, bias_squares,
):  # fmt: skip
    """Take one step of Adagrad for each query, down the gradient of ``-log softmax(target)``.

    Targets that are used are no negatives of each other; all other candidates are negatives.

    Parameters
    ----------
    order : int64[n]
        The queries, in the order in which to take them.
    query_ptr, slot, rule_ptr, rules, discount, bins
        See `score`.
    target_ptr : int64[queries + 1]
    target_row : int64[targets]
        See `kgagg.ranking.targets.target_rows`.
    used : bool[targets]
    weight : float64[all rules]
        The value of a rule is its weight times one plus the changes of its groups.
    group : int32[all rules, groups]
    scale : float
        Of scores before the softmax.
    rates : float64[groups + 1]
        The learning rate of each kind of group, then that of the bias; if all are 0, nothing
        changes.
    change, change_squares : float64[groups, all rules]
    bias, bias_squares : float64[slots + 1, bins]
        Changed in place, with the sums of squared gradients.

    Returns
    -------
    float
        The loss, each query before its step.
    """
    # long: one pass over the queries, with all that is learned
    loss = 0.0
    groups, depth, every = group.shape[1], len(discount), len(bias) - 1
    longest = 0
    for query in range(len(query_ptr) - 1):
        longest = max(longest, query_ptr[query + 1] - query_ptr[query])
    p, d = np.empty((2, longest))
    for query in order:
        first, last = query_ptr[query], query_ptr[query + 1]
        begin, end, s = target_ptr[query], target_ptr[query + 1], slot[query]
        top, wanted = -np.inf, 0
        for t in range(begin, end):
            wanted += used[t] and target_row[t] >= 0
        if wanted == 0:
            continue
        for row in range(first, last):
            start = rule_ptr[row]
            total = bias[s, bins[row]] + bias[every, bins[row]]
            for i in range(min(depth, rule_ptr[row + 1] - start)):
                rule, factor = rules[start + i], 1.0
                for k in range(groups):
                    factor += change[k, group[rule, k]]
                total += discount[i] * weight[rule] * factor
            p[row - first] = total * scale
            top = max(top, total * scale)
        negatives = 0.0
        for i in range(last - first):
            p[i] = np.exp(p[i] - top)
            d[i] = 1.0
        for t in range(begin, end):
            if used[t] and target_row[t] >= 0:
                d[target_row[t] - first] = 0.0
        for i in range(last - first):
            negatives += p[i] * d[i]
        shares = 0.0
        for t in range(begin, end):
            if used[t] and target_row[t] >= 0:
                i = target_row[t] - first
                # a target far below the best one still has a gradient
                share = max(p[i], 1e-300) / max(negatives + p[i], 1e-300)
                loss -= np.log(share)
                shares += 1.0 / max(negatives + p[i], 1e-300)
                d[i] = share - 1.0
        for i in range(last - first):
            if d[i] > 0.0:
                d[i] = p[i] * shares
        for row in range(first, last):
            slope = d[row - first] * scale
            if abs(slope) < 1e-4 * scale:
                continue
            b = bins[row]
            bias_squares[s, b] += slope * slope
            bias[s, b] -= rates[groups] * slope / np.sqrt(bias_squares[s, b])
            bias_squares[every, b] += slope * slope
            bias[every, b] -= rates[groups] * slope / np.sqrt(bias_squares[every, b])
            start = rule_ptr[row]
            for i in range(min(depth, rule_ptr[row + 1] - start)):
                rule = rules[start + i]
                g = slope * discount[i] * weight[rule]
                for k in range(groups):
                    one = group[rule, k]
                    change_squares[k, one] += g * g
                    change[k, one] -= rates[k] * g / np.sqrt(change_squares[k, one])
    return loss
