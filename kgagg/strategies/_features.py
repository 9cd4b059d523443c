"""Kernels of `kgagg.strategies.features`."""

from __future__ import annotations

import numpy as np

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)


@jit
def of_rules(row, rule_ptr, rules, confidence, weight, kind, length, support, plain, first, out):
    """Describe candidates by the rules that predict them.

    Parameters
    ----------
    row : int64[n]
        The candidates.
    rule_ptr : int64[candidates + 1]
    rules : int32[rules kept]
    confidence, weight : float64[all rules]
    kind : uint8[all rules]
        The kind of rule for which `out` has columns of its own.
    length : uint8[all rules]
    support : float32[all rules]
        The logarithm of one plus the number of correct predictions.
    plain : float32[all rules]
        The share of correct predictions.
    first : (int, int, int, int)
        How many best rules count, of how many the confidence is taken, of how many the kind, length
        and support, and how many kinds there are.
    out : float32[n, first[1] + 3 * first[2] + 2 * first[3] + 4]
        Zeros; takes these, then for each kind the best confidence and the sum of weights, then the
        best `plain`, `support` and their product, and the sum of `plain`.
    """
    kept, depth, described, kinds = first
    by_kind = depth + 3 * described
    rest = by_kind + 2 * kinds
    for i in range(len(row)):
        start = rule_ptr[row[i]]
        for j in range(min(kept, rule_ptr[row[i] + 1] - start)):
            rule = rules[start + j]
            if j < depth:
                out[i, j] = confidence[rule]
            if j < described:
                out[i, depth + 3 * j] = kind[rule]
                out[i, depth + 3 * j + 1] = length[rule]
                out[i, depth + 3 * j + 2] = support[rule]
            column = by_kind + 2 * kind[rule]
            out[i, column] = max(out[i, column], confidence[rule])
            out[i, column + 1] += weight[rule]
            out[i, rest] = max(out[i, rest], plain[rule])
            out[i, rest + 1] = max(out[i, rest + 1], support[rule])
            out[i, rest + 2] = max(out[i, rest + 2], plain[rule] * support[rule])
            out[i, rest + 3] += plain[rule]


@jit
def relative(ptr, value, out):
    """Compare each candidate with the others of its query.

    Parameters
    ----------
    ptr : int64[queries + 1]
    value : float32[n]
    out : float32[n, 3]
        Takes how many candidates have more, what is missing to the most, and to the most that
        another candidate has.
    """
    for query in range(len(ptr) - 1):
        for i in range(ptr[query], ptr[query + 1]):
            above, most, other = 0, value[i], -np.inf
            for j in range(ptr[query], ptr[query + 1]):
                above += value[j] > value[i]
                if j != i:
                    other = max(other, value[j])
            most = max(most, other)
            out[i, 0] = above
            out[i, 1] = value[i] - most
            out[i, 2] = value[i] - other if other > -np.inf else 0.0


@inner_jit
def _segment(entity_ptr, segment_key, entity, key):
    """Return the segment of an entity with this step key, -1 if it has none."""
    low, high = entity_ptr[entity], entity_ptr[entity + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if segment_key[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < end and segment_key[low] == key else -1


@jit
def count_facts(entity_ptr, segment_key, segment_ptr, entity, key, out):
    """Count the neighbours that each of `entity` has by each of `key`, in `out`, int64[n]."""
    for i in range(len(entity)):
        segment = _segment(entity_ptr, segment_key, entity[i], key[i])
        out[i] = segment_ptr[segment + 1] - segment_ptr[segment] if segment >= 0 else 0


@jit
def mates(entity_ptr, segment_key, segment_ptr, neighbours, out):
    """Put the segment that leads back along each edge in `out`, int32[2 * facts].

    The edge from an entity by a key to a neighbour is a property of the entity; the segment of the
    neighbour with the opposite key lists all entities that have it.
    """
    for entity in range(len(entity_ptr) - 1):
        for segment in range(entity_ptr[entity], entity_ptr[entity + 1]):
            for edge in range(segment_ptr[segment], segment_ptr[segment + 1]):
                key = segment_key[segment] ^ 1
                out[edge] = _segment(entity_ptr, segment_key, neighbours[edge], key)


@inner_jit
def _has(neighbours, low, high, entity):
    """Tell whether an entity is in a part of the neighbours."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < entity:
            low = middle + 1
        else:
            high = middle
    return low < end and neighbours[low] == entity


@jit
def agreement(entity_ptr, segment_key, segment_ptr, neighbours, mate, sampled, agree, number):
    """Count how often entities that share a property by one key share one by another, too.

    Parameters
    ----------
    entity_ptr, segment_key, segment_ptr, neighbours
        See `kgagg.graph.adjacency.Adjacency`.
    mate : int32[2 * facts]
        See `mates`.
    sampled : int
        How many properties of an entity and key are tried, each with one other entity that has it.
    agree, number : float64[step keys, step keys]
        Zeros. For each key of an entity (row) and each key by which it shares a property with
        another one (column): how often the other has one of its neighbours by the first key as
        well, and how often that was tried.
    """
    for entity in range(len(entity_ptr) - 1):
        for segment in range(entity_ptr[entity], entity_ptr[entity + 1]):
            start, size = segment_ptr[segment], segment_ptr[segment + 1] - segment_ptr[segment]
            for i in range(min(sampled, size)):
                edge = start + i * size // min(sampled, size)
                first = segment_ptr[mate[edge]]
                owners = segment_ptr[mate[edge] + 1] - first
                if owners == 1:
                    continue
                at = (entity * 7919 + i * 104729) % owners
                if neighbours[first + at] == entity:
                    at = (at + 1) % owners
                other = neighbours[first + at]
                for own in range(entity_ptr[entity], entity_ptr[entity + 1]):
                    low, many = segment_ptr[own], segment_ptr[own + 1] - segment_ptr[own]
                    place = low + (entity + i) % many
                    if own == segment and place == edge:
                        if many == 1:
                            continue
                        place = low + (entity + i + 1) % many
                    key = segment_key[own]
                    number[key, segment_key[segment]] += 1.0
                    theirs = _segment(entity_ptr, segment_key, other, key)
                    if theirs >= 0 and _has(
                        neighbours, segment_ptr[theirs], segment_ptr[theirs + 1], neighbours[place]
                    ):
                        agree[key, segment_key[segment]] += 1.0


@jit
def similar(
    entity_ptr, segment_key, segment_ptr, neighbours, mate, weight, norm, lift, slot, entity, ptr,
    candidate, most, found, seen, centre, met, out,
):  # fmt: skip
    """Compare candidates with what is known, by the properties that entities share.

    The similarity of two entities is the sum of the weights of the properties that they share, each
    times what its key tells about the slot, over the product of the entities' norms: without
    `lift`, the cosine.

    Parameters
    ----------
    entity_ptr, segment_key, segment_ptr, neighbours
        See `kgagg.graph.adjacency.Adjacency`.
    mate : int32[2 * facts]
        See `mates`.
    weight : float64[segments]
        The squared weight of the property that the entities of a segment share.
    norm : float64[entities]
        The root of the sum of an entity's weights.
    lift : float64[step keys, step keys]
        By the key for which entities are compared, and the key of the property; positive.
    slot : int64[queries]
    entity : int32[queries]
    ptr : int64[queries + 1]
    candidate : int32[n]
    most : (int, int)
        Properties that more entities have than this are not walked along; and of how many
        answers that are known the properties are taken.
    found : float64[entities]
        Zeros, and left as zeros.
    seen : int32[entities]
    centre : float64[segments]
        Zeros, and left as zeros.
    met : int32[segments]
    out : float32[n, 6]
        Zeros. Takes, of the entities for which the candidate is a known answer, the similarity to
        the query's entity: sum, greatest, mean, and sum over the root of their number; then the
        mean similarity of the candidate to known answers of the query, and to its entity.
    """
    # long: one pass over the chosen candidates of each query, with all its working space
    widest, known = most
    reached = 0
    for query in range(len(slot)):
        own, slot_ = entity[query], slot[query]
        for i in range(reached):
            found[seen[i]] = 0.0
        reached = 0
        for segment in range(entity_ptr[own], entity_ptr[own + 1]):
            told = lift[slot_, segment_key[segment]]
            for edge in range(segment_ptr[segment], segment_ptr[segment + 1]):
                start, stop = segment_ptr[mate[edge]], segment_ptr[mate[edge] + 1]
                if stop - start <= widest:
                    for i in range(start, stop):
                        if found[neighbours[i]] == 0.0:
                            seen[reached] = neighbours[i]
                            reached += 1
                        found[neighbours[i]] += weight[mate[edge]] * told
        answers = _segment(entity_ptr, segment_key, own, slot_)
        size, taken = 0, 0
        if answers >= 0:
            start, stop = segment_ptr[answers], segment_ptr[answers + 1]
            for i in range(start, stop, max(1, (stop - start) // known)):
                answer = neighbours[i]
                taken += 1
                for segment in range(entity_ptr[answer], entity_ptr[answer + 1]):
                    told = lift[slot_ ^ 1, segment_key[segment]] / norm[answer]
                    for edge in range(segment_ptr[segment], segment_ptr[segment + 1]):
                        if mate[edge] != answers:
                            if centre[mate[edge]] == 0.0:
                                met[size] = mate[edge]
                                size += 1
                            centre[mate[edge]] += weight[mate[edge]] * told
        for row in range(ptr[query], ptr[query + 1]):
            one = candidate[row]
            if norm[one] == 0.0:
                continue
            back = _segment(entity_ptr, segment_key, one, slot_ ^ 1)
            if back >= 0 and norm[own] > 0.0:
                total, greatest = 0.0, 0.0
                for i in range(segment_ptr[back], segment_ptr[back + 1]):
                    if neighbours[i] != own:
                        alike = found[neighbours[i]] / (norm[own] * norm[neighbours[i]])
                        total += alike
                        greatest = max(greatest, alike)
                number = segment_ptr[back + 1] - segment_ptr[back]
                out[row, 0] = total
                out[row, 1] = greatest
                out[row, 2] = total / number
                out[row, 3] = total / np.sqrt(number)
            if taken > 0:
                total = 0.0
                for edge in range(segment_ptr[entity_ptr[one]], segment_ptr[entity_ptr[one + 1]]):
                    total += centre[mate[edge]]
                out[row, 4] = total / (norm[one] * taken)
            if norm[own] > 0.0:
                out[row, 5] = found[one] / (norm[own] * norm[one])
        for i in range(size):
            centre[met[i]] = 0.0
    for i in range(reached):
        found[seen[i]] = 0.0


@jit
def walks(
    entity_ptr, segment_ptr, neighbours, root, widest, entity, ptr, candidate,
    once, first, twice, second, out,
):  # fmt: skip
    """Follow all edges from the entities of queries to candidates, of whatever relation.

    A step from one entity to another counts the product of their `root`, a walk the product of its
    steps, and a candidate gets the sum over all walks of one, two and three steps.

    Parameters
    ----------
    entity_ptr, segment_ptr, neighbours
        See `kgagg.graph.adjacency.Adjacency`.
    root : float64[entities]
        One over the root of an entity's facts, 0 if it has none.
    widest : float
        The second step does not start from an entity with a lower root: too many facts.
    entity : int32[queries]
    ptr : int64[queries + 1]
    candidate : int32[n]
    once, twice : float64[entities]
        Zeros, and left as zeros.
    first, second : int32[entities]
    out : float32[n, 4]
        Takes the sums for one, two and three steps, and the share of the candidate's facts that
        lead to where two steps end.
    """
    # long: one pass over the queries, with all its working space
    for query in range(len(entity)):
        own, firsts, seconds = entity[query], 0, 0
        for i in range(segment_ptr[entity_ptr[own]], segment_ptr[entity_ptr[own + 1]]):
            to = neighbours[i]
            if once[to] == 0.0:
                first[firsts] = to
                firsts += 1
            once[to] += root[own] * root[to]
        for k in range(firsts):
            by = first[k]
            if root[by] >= widest:
                for i in range(segment_ptr[entity_ptr[by]], segment_ptr[entity_ptr[by + 1]]):
                    to = neighbours[i]
                    if to != own:
                        if twice[to] == 0.0:
                            second[seconds] = to
                            seconds += 1
                        twice[to] += once[by] * root[by] * root[to]
        for row in range(ptr[query], ptr[query + 1]):
            one, total, met = candidate[row], 0.0, 0
            for i in range(segment_ptr[entity_ptr[one]], segment_ptr[entity_ptr[one + 1]]):
                by = neighbours[i]
                total += twice[by] * root[by]
                met += twice[by] > 0.0
            out[row, 0] = once[one]
            out[row, 1] = twice[one]
            out[row, 2] = total * root[one]
            out[row, 3] = met * root[one] * root[one]
        for k in range(firsts):
            once[first[k]] = 0.0
        for k in range(seconds):
            twice[second[k]] = 0.0


@jit
def of_types(entity_ptr, segment_key, affinity, slot, ptr, candidate, out):
    """Compare the relations that candidates have with those of a slot's answers.

    Parameters
    ----------
    entity_ptr, segment_key
        See `kgagg.graph.adjacency.Adjacency`.
    affinity : float32[step keys, step keys]
        How much more often an entity has both keys than by chance, as a logarithm.
    slot : int64[queries]
    ptr : int64[queries + 1]
    candidate : int32[n]
    out : float32[n, 4]
        Zeros; takes mean, greatest, least and sum over the other keys of the candidate.
    """
    for query in range(len(slot)):
        key = slot[query] ^ 1
        for row in range(ptr[query], ptr[query + 1]):
            one, number, total = candidate[row], 0, 0.0
            for i in range(entity_ptr[one], entity_ptr[one + 1]):
                if segment_key[i] != key:
                    value = affinity[key, segment_key[i]]
                    total += value
                    out[row, 1] = value if number == 0 else max(out[row, 1], value)
                    out[row, 2] = value if number == 0 else min(out[row, 2], value)
                    number += 1
            if number > 0:
                out[row, 0] = total / number
                out[row, 3] = total


@jit
def reciprocal_rank(ptr, target, score, harmonic):
    """Sum the expected reciprocal ranks of targets among the candidates that are none.

    Parameters
    ----------
    ptr : int64[queries + 1]
    target : bool[n]
    score : float64[n]
    harmonic : float64[n + 1]
        See `kgagg.ranking.ties.harmonic_numbers`.
    """
    result = 0.0
    for query in range(len(ptr) - 1):
        for i in range(ptr[query], ptr[query + 1]):
            if target[i]:
                better, tied = 0, 0
                for j in range(ptr[query], ptr[query + 1]):
                    if not target[j]:
                        better += score[j] > score[i]
                        tied += score[j] == score[i]
                result += (harmonic[better + tied + 1] - harmonic[better]) / (tied + 1)
    return result
