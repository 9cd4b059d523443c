"""Kernels of `kgagg.strategies.sparse`."""

from __future__ import annotations

import numpy as np

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__)
inner_jit = inner_kernels()


@jit
def score(query_ptr, direction, rule_ptr, rules, confidence, weight, depth):
    """Sum ``-log(1 - greatest confidence * weight)`` over dimensions: float64[candidates].

    Parameters
    ----------
    query_ptr, rule_ptr, rules
        See `kgagg.engine.firings`.
    direction : uint8[queries]
    confidence : float64[all rules]
    weight : float32[2, all rules, dimensions]
        By direction.
    depth : int
        How many rules of a candidate to read.
    """
    scores = np.zeros(len(rule_ptr) - 1)
    greatest = np.empty(weight.shape[2])
    for query in range(len(query_ptr) - 1):
        own = weight[direction[query]]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            greatest[:] = 0.0
            for i in range(rule_ptr[row], min(rule_ptr[row + 1], rule_ptr[row] + depth)):
                rule = rules[i]
                for k in range(len(greatest)):
                    greatest[k] = max(greatest[k], confidence[rule] * own[rule, k])
            for k in range(len(greatest)):
                scores[row] -= np.log1p(-greatest[k])
    return scores


@inner_jit
def soften(embedding, weight, rule):
    """Set the weights of a rule to the softmax of its embedding."""
    top, total = embedding[rule, 0], 0.0
    for k in range(embedding.shape[1]):
        top = max(top, embedding[rule, k])
    for k in range(embedding.shape[1]):
        weight[rule, k] = np.exp(embedding[rule, k] - top)
        total += weight[rule, k]
    for k in range(embedding.shape[1]):
        weight[rule, k] /= total


@jit
def train(
    order, query_ptr, candidate, target_ptr, target, rule_ptr, rules, confidence, depth, width,
    rate, embedding, squares, weight, slope,
):  # fmt: skip
    """Take one step of Adagrad for each query, down the gradient of the log of a smooth rank.

    The rank of a target is one plus the sum over other candidates of a sigmoid of by how much
    they are ahead. Targets are no candidates for each other.

    Parameters
    ----------
    order : int64[n]
        The queries, in the order in which to take them.
    query_ptr, candidate, target_ptr, target, rule_ptr, rules
        See `kgagg.engine.firings`.
    confidence, depth
        See `score`.
    width : float
        Of the sigmoid.
    rate : float
        If it is 0, nothing changes.
    embedding, squares, weight, slope : float64[all rules, dimensions]
        Changed in place: the embeddings, their sums of squared gradients and softmax. Slopes are
        0 before and after.

    Returns
    -------
    float
        The loss, each query before its step.
    """
    # long: one pass over the queries, with all that is trained
    loss, dimensions = 0.0, embedding.shape[1]
    longest = 0
    for query in range(len(query_ptr) - 1):
        longest = max(longest, query_ptr[query + 1] - query_ptr[query])
    value, pull, push = np.empty((3, longest))
    is_target = np.empty(longest, np.bool_)
    best, greatest = np.empty((longest, dimensions), np.int64), np.empty(dimensions)
    for query in order:
        first, last = query_ptr[query], query_ptr[query + 1]
        for row in range(first, last):
            i = row - first
            value[i], pull[i], is_target[i] = 0.0, 0.0, False
            greatest[:] = -1.0
            for j in range(rule_ptr[row], min(rule_ptr[row + 1], rule_ptr[row] + depth)):
                rule = rules[j]
                for k in range(dimensions):
                    now = confidence[rule] * weight[rule, k]
                    if now > greatest[k]:
                        greatest[k], best[i, k] = now, rule
            for k in range(dimensions):
                value[i] -= np.log1p(-greatest[k])
            for t in range(target_ptr[query], target_ptr[query + 1]):
                if candidate[row] == target[t]:
                    is_target[i] = True
        for own in range(last - first):
            if is_target[own]:
                rank, total = 1.0, 0.0
                for i in range(last - first):
                    if not is_target[i]:
                        ahead = 1.0 / (1.0 + np.exp((value[own] - value[i]) / width))
                        push[i] = ahead * (1.0 - ahead) / width
                        rank += ahead
                        total += push[i]
                loss += np.log(rank)
                pull[own] -= total / rank
                for i in range(last - first):
                    if not is_target[i]:
                        pull[i] += push[i] / rank
        if rate == 0.0:
            continue
        for i in range(last - first):
            if abs(pull[i]) > 1e-6:
                for k in range(dimensions):
                    rule = best[i, k]
                    c = confidence[rule]
                    slope[rule, k] += pull[i] * c / (1.0 - c * weight[rule, k])
        for i in range(last - first):
            if abs(pull[i]) > 1e-6:
                for d in range(dimensions):
                    rule, mean, moved = best[i, d], 0.0, False
                    for k in range(dimensions):
                        mean += slope[rule, k] * weight[rule, k]
                        moved = moved or slope[rule, k] != 0.0
                    if not moved:
                        continue
                    for k in range(dimensions):
                        g = weight[rule, k] * (slope[rule, k] - mean)
                        squares[rule, k] += g * g
                        embedding[rule, k] -= rate * g / np.sqrt(squares[rule, k])
                        slope[rule, k] = 0.0
                    soften(embedding, weight, rule)
    return loss
