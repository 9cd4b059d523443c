"""Kernels that index the edges of a graph and find them again."""

from __future__ import annotations

import numpy as np

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)


@inner_jit
def _scatter(sources, targets, key, starts, buckets):
    """One stable pass of a radix sort: reorder the columns of `sources` by their row `key`."""
    for bucket in range(buckets + 1):
        starts[bucket] = 0
    for i in range(sources.shape[1]):
        starts[sources[key, i] + 1] += 1
    for bucket in range(buckets):
        starts[bucket + 1] += starts[bucket]
    for i in range(sources.shape[1]):
        place = starts[sources[key, i]]
        starts[sources[key, i]] += 1
        for row in range(3):
            targets[row, place] = sources[row, i]


@jit
def sort_steps(triples, entities, relations, steps, other, starts):
    """Sort the steps along triples, and back, by entity, step key and neighbour.

    Parameters
    ----------
    triples : int32[n, 3]
    entities, relations : int
        How many there are.
    steps : int32[3, 2 * n]
        Takes the sorted entities, keys and neighbours.
    other : int32[3, 2 * n]
        Working space.
    starts : int64[*]
        Working space: one more than there are entities, and than there are keys.

    Returns
    -------
    segments, edges : int
        How many pairs of entity and key there are, and how many different steps.
    """
    for i in range(len(triples)):
        head, relation, tail = triples[i, 0], triples[i, 1], triples[i, 2]
        other[0, 2 * i], other[1, 2 * i], other[2, 2 * i] = head, 2 * relation, tail
        other[0, 2 * i + 1], other[1, 2 * i + 1], other[2, 2 * i + 1] = tail, 2 * relation + 1, head
    # by radix, last row first
    _scatter(other, steps, 2, starts, entities)
    _scatter(steps, other, 1, starts, 2 * relations)
    _scatter(other, steps, 0, starts, entities)
    segments, edges = 0, 0
    for i in range(steps.shape[1]):
        new = _begins(steps, i)
        segments += new
        edges += new or steps[2, i] != steps[2, i - 1]
    return segments, edges


@inner_jit
def _begins(steps, i):
    """Return whether the entity or the key of step `i` differs from that of the step before."""
    return i == 0 or steps[0, i] != steps[0, i - 1] or steps[1, i] != steps[1, i - 1]


@jit
def index_steps(
    steps, entity_ptr, segment_key, segment_ptr, neighbours, key_ptr, key_entities, starts
):
    """Index sorted steps by entity and key, and by key and entity.

    Parameters
    ----------
    steps : int32[3, n]
        See `sort_steps`.
    entity_ptr, segment_key, segment_ptr, neighbours, key_ptr, key_entities : arrays
        Take the index (see `kgagg.graph.adjacency.Adjacency`); the pointers are zeros.
    starts : int64[*]
        Working space: as many as there are keys.
    """
    segments, edges = 0, 0
    for i in range(steps.shape[1]):
        new = _begins(steps, i)
        if new:
            segment_key[segments] = steps[1, i]
            segment_ptr[segments] = edges
            entity_ptr[steps[0, i] + 1] += 1
            key_ptr[steps[1, i] + 1] += 1
            segments += 1
        # a triple that stands twice in the file is one fact
        if new or steps[2, i] != steps[2, i - 1]:
            neighbours[edges] = steps[2, i]
            edges += 1
    segment_ptr[segments] = edges
    for entity in range(len(entity_ptr) - 1):
        entity_ptr[entity + 1] += entity_ptr[entity]
    for key in range(len(key_ptr) - 1):
        starts[key] = key_ptr[key]
        key_ptr[key + 1] += key_ptr[key]
    for entity in range(len(entity_ptr) - 1):
        for segment in range(entity_ptr[entity], entity_ptr[entity + 1]):
            key = segment_key[segment]
            key_entities[starts[key]] = entity
            starts[key] += 1


@inner_jit
def find_segment(entity_ptr, segment_key, entity, key):
    """Return the number of the segment of `entity` with the step `key`, or -1."""
    # unsigned, because numba asks of each signed index whether it counts from the end
    one = np.uintp(1)
    low = np.uintp(entity_ptr[np.uintp(entity)])
    count = np.uintp(entity_ptr[np.uintp(entity) + one]) - low
    if count == 0:
        return np.int64(-1)
    # the last that is not greater; without a branch to be guessed wrongly half of the time
    while count > one:
        half = count >> one
        low += half * np.uintp(segment_key[low + half] <= key)
        count -= half
    return np.int64(low) if segment_key[low] == key else np.int64(-1)


@inner_jit
def has_edge(entity_ptr, segment_key, segment_ptr, neighbours, entity, key, other):
    """Return whether the step `key` leads from `entity` to `other`."""
    segment = find_segment(entity_ptr, segment_key, entity, key)
    if segment < 0:
        return False
    low, stop = segment_ptr[segment], segment_ptr[segment + 1]
    high = stop
    while low < high:
        middle = (low + high) >> 1
        if neighbours[middle] < other:
            low = middle + 1
        else:
            high = middle
    return low < stop and neighbours[low] == other


@jit
def contains(entity_ptr, segment_key, segment_ptr, neighbours, triples, found):
    """Mark in `found`, bool[n], which of `triples`, int32[n, 3], are facts."""
    for i in range(len(triples)):
        found[i] = has_edge(
            entity_ptr,
            segment_key,
            segment_ptr,
            neighbours,
            triples[i, 0],
            2 * triples[i, 1],
            triples[i, 2],
        )
