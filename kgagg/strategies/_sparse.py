"""Kernels of `kgagg.strategies.sparse`."""

from __future__ import annotations

import numpy as np

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__)
inner_jit = inner_kernels()


@inner_jit
def _greatest(start, stop, rules, confidence, weight, greatest):
    """Set the greatest share of rules in each dimension."""
    for k in range(len(greatest)):
        greatest[k] = 0.0
    for i in range(start, stop):
        own, share = confidence[rules[i]], weight[rules[i]]
        for k in range(len(greatest)):
            greatest[k] = max(greatest[k], own * share[k])


@jit
def score(query_ptr, direction, rule_ptr, rules, confidence, weight, depth):
    """Sum ``-log(1 - greatest confidence * weight)`` over dimensions: float64[candidates].

    Parameters
    ----------
    query_ptr, rule_ptr, rules
        See `kgagg.engine.firings`.
    direction : uint8[queries]
    confidence : float32[all rules]
    weight : float32[2, all rules, dimensions]
        By direction.
    depth : int
        How many rules of a candidate to read.
    """
    scores = np.zeros(len(rule_ptr) - 1)
    greatest = np.empty(weight.shape[2], weight.dtype)
    for query in range(len(query_ptr) - 1):
        own = weight[direction[query]]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            stop = min(rule_ptr[row + 1], rule_ptr[row] + depth)
            _greatest(rule_ptr[row], stop, rules, confidence, own, greatest)
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


@inner_jit
def _smooth_rank(value, is_target, width, pull, push):
    """Return the sum of the logarithms of smooth ranks of targets; set their derivatives.

    Parameters
    ----------
    value : float64[candidates]
    is_target : bool[candidates]
    width : float
        Of the sigmoid.
    pull : float64[candidates]
        Set here: by how much the loss grows with each value.
    push : float64[candidates]
        Working space.
    """
    loss = 0.0
    pull[:] = 0.0
    for own in range(len(value)):
        if not is_target[own]:
            continue
        rank, total = 1.0, 0.0
        for i in range(len(value)):
            if not is_target[i]:
                ahead = 1.0 / (1.0 + np.exp((value[own] - value[i]) / width))
                push[i] = ahead * (1.0 - ahead) / width
                rank += ahead
                total += push[i]
        loss += np.log(rank)
        pull[own] -= total / rank
        for i in range(len(value)):
            if not is_target[i]:
                pull[i] += push[i] / rank
    return loss


@inner_jit
def _step(rule, rate, embedding, squares, weight, slope):
    """Take a step of Adagrad for one rule, if it has a slope."""
    mean, moved = 0.0, False
    for k in range(embedding.shape[1]):
        mean += slope[rule, k] * weight[rule, k]
        moved = moved or slope[rule, k] != 0.0
    if not moved:
        return
    for k in range(embedding.shape[1]):
        g = weight[rule, k] * (slope[rule, k] - mean)
        squares[rule, k] += g * g
        embedding[rule, k] -= rate * g / np.sqrt(squares[rule, k])
        slope[rule, k] = 0.0
    soften(embedding, weight, rule)


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
    embedding, squares, weight, slope : float32[all rules, dimensions]
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
    best, greatest = np.empty((longest, dimensions), np.int64), np.empty(dimensions, weight.dtype)
    for query in order:
        first = query_ptr[query]
        count = query_ptr[query + 1] - first
        for i in range(count):
            row = first + i
            is_target[i] = False
            for t in range(target_ptr[query], target_ptr[query + 1]):
                if candidate[row] == target[t]:
                    is_target[i] = True
            stop = min(rule_ptr[row + 1], rule_ptr[row] + depth)
            _greatest(rule_ptr[row], stop, rules, confidence, weight, greatest)
            value[i] = 0.0
            for k in range(dimensions):
                value[i] -= np.log1p(-greatest[k])
        loss += _smooth_rank(value[:count], is_target[:count], width, pull[:count], push[:count])
        if rate == 0.0:
            continue
        for i in range(count):
            if abs(pull[i]) <= 1e-6:
                continue
            row = first + i
            greatest[:] = -1.0
            for j in range(rule_ptr[row], min(rule_ptr[row + 1], rule_ptr[row] + depth)):
                rule = rules[j]
                for k in range(dimensions):
                    now = confidence[rule] * weight[rule, k]
                    if now > greatest[k]:
                        greatest[k], best[i, k] = now, rule
            for k in range(dimensions):
                c = confidence[best[i, k]]
                slope[best[i, k], k] += pull[i] * c / (1.0 - c * weight[best[i, k], k])
        for i in range(count):
            if abs(pull[i]) > 1e-6:
                for d in range(dimensions):
                    _step(best[i, d], rate, embedding, squares, weight, slope)
    return loss
