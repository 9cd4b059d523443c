"""Kernels that read triples from text and index them."""

from __future__ import annotations

import numpy as np

from kgagg import _names
from kgagg._compile import inner_kernels, kernels
from kgagg._names import intern

jit = kernels(__file__, _names.__file__)
inner_jit = inner_kernels()

# the cells of the reader's state: where it is, and what it has met
POSITION, LINE, ROWS, ENTITIES, RELATIONS, BLANK = range(6)
# what the reader returns
DONE, FULL, COLUMNS, EMPTY_NAME = range(4)


@jit
def read_triples(
    buffer,
    state,
    entity_blob,
    entity_offsets,
    entity_table,
    relation_blob,
    relation_offsets,
    relation_table,
    triples,
):
    """Read the lines of `buffer`, which ends with a line end, into `triples`.

    Parameters
    ----------
    buffer : uint8[n]
    state : int64[6]
        Where to begin; updated, so that a call goes on where the last one returned.
    entity_blob, entity_offsets, entity_table, relation_blob, relation_offsets, relation_table
        The two tables of names (see `kgagg._names`), extended.
    triples : int32[rows, 3]
        Filled from row ``state[ROWS]`` on.

    Returns
    -------
    int
        DONE, FULL (make room and call again), or what is wrong with line ``state[LINE]``.
    """
    cuts = np.empty(4, np.int64)
    while state[POSITION] < len(buffer):
        start = state[POSITION]
        cuts[0] = start
        columns = 1
        stop = start
        while buffer[stop] != 10:
            if buffer[stop] == 9:
                if columns < 4:
                    cuts[columns] = stop + 1
                columns += 1
            stop += 1
        end = stop
        if end > start and buffer[end - 1] == 13:
            end -= 1
        if end == start:
            # blank lines are harmless at the end of a file only
            if state[BLANK] == 0:
                state[BLANK] = state[LINE]
            state[POSITION] = stop + 1
            state[LINE] += 1
            continue
        if state[BLANK] > 0:
            state[LINE] = state[BLANK]
            return COLUMNS
        if columns != 3:
            return COLUMNS
        length = end - start
        if (
            state[ROWS] == len(triples)
            or entity_offsets[state[ENTITIES]] + length > len(entity_blob)
            or relation_offsets[state[RELATIONS]] + length > len(relation_blob)
            or state[ENTITIES] + 2 >= len(entity_offsets)
            or state[RELATIONS] + 1 >= len(relation_offsets)
            or 2 * (state[ENTITIES] + 2) > len(entity_table)
            or 2 * (state[RELATIONS] + 1) > len(relation_table)
        ):
            return FULL
        cuts[3] = end + 1
        for column in range(3):
            only_blanks = True
            for i in range(cuts[column], cuts[column + 1] - 1):
                if buffer[i] > 32:
                    only_blanks = False
                    break
            if only_blanks:
                return EMPTY_NAME
            first, last = cuts[column], cuts[column + 1] - 1
            if column == 1:
                name = intern(
                    relation_blob,
                    relation_offsets,
                    relation_table,
                    state[RELATIONS],
                    buffer,
                    first,
                    last,
                )
                state[RELATIONS] = max(state[RELATIONS], name + 1)
            else:
                name = intern(
                    entity_blob, entity_offsets, entity_table, state[ENTITIES], buffer, first, last
                )
                state[ENTITIES] = max(state[ENTITIES], name + 1)
            triples[state[ROWS], column] = name
        state[ROWS] += 1
        state[POSITION] = stop + 1
        state[LINE] += 1
    return DONE


@inner_jit
def _scatter(digits, buckets, sources, targets):
    """One stable pass of a radix sort: reorder the rows of `sources` by `digits`."""
    starts = np.zeros(buckets + 1, np.int64)
    for digit in digits:
        starts[digit + 1] += 1
    for bucket in range(buckets):
        starts[bucket + 1] += starts[bucket]
    for i in range(len(digits)):
        place = starts[digits[i]]
        starts[digits[i]] += 1
        for column in range(3):
            targets[column, place] = sources[column, i]


@jit
def build_adjacency(triples, entities, relations):
    """Index triples by entity and step key (see `kgagg.graph.Adjacency`).

    Parameters
    ----------
    triples : int32[n, 3]
    entities, relations : int
        How many there are.

    Returns
    -------
    entity_ptr, segment_key, segment_ptr, neighbours, key_ptr, key_entities : arrays
    """
    count = 2 * len(triples)
    # rows: entity, step key, neighbour; sorted by radix, last column first
    steps = np.empty((3, count), np.int32)
    other = np.empty((3, count), np.int32)
    for i in range(len(triples)):
        head, relation, tail = triples[i, 0], triples[i, 1], triples[i, 2]
        steps[0, 2 * i], steps[1, 2 * i], steps[2, 2 * i] = head, 2 * relation, tail
        steps[0, 2 * i + 1], steps[1, 2 * i + 1], steps[2, 2 * i + 1] = tail, 2 * relation + 1, head
    _scatter(steps[2], entities, steps, other)
    _scatter(other[1], 2 * relations, other, steps)
    _scatter(steps[0], entities, steps, other)

    segments, edges = 0, 0
    for i in range(count):
        new = i == 0 or other[0, i] != other[0, i - 1] or other[1, i] != other[1, i - 1]
        segments += new
        edges += new or other[2, i] != other[2, i - 1]
    entity_ptr = np.zeros(entities + 1, np.int32)
    segment_key = np.empty(segments, np.int32)
    segment_ptr = np.empty(segments + 1, np.int32)
    neighbours = np.empty(edges, np.int32)
    key_ptr = np.zeros(2 * relations + 1, np.int64)
    segments, edges = 0, 0
    for i in range(count):
        new = i == 0 or other[0, i] != other[0, i - 1] or other[1, i] != other[1, i - 1]
        if new:
            segment_key[segments] = other[1, i]
            segment_ptr[segments] = edges
            entity_ptr[other[0, i] + 1] += 1
            key_ptr[other[1, i] + 1] += 1
            segments += 1
        # a triple that stands twice in the file is one fact
        if new or other[2, i] != other[2, i - 1]:
            neighbours[edges] = other[2, i]
            edges += 1
    segment_ptr[segments] = edges
    for entity in range(entities):
        entity_ptr[entity + 1] += entity_ptr[entity]
    for key in range(2 * relations):
        key_ptr[key + 1] += key_ptr[key]

    key_entities = np.empty(segments, np.int32)
    fill = key_ptr.copy()
    for entity in range(entities):
        for segment in range(entity_ptr[entity], entity_ptr[entity + 1]):
            key = segment_key[segment]
            key_entities[fill[key]] = entity
            fill[key] += 1
    return entity_ptr, segment_key, segment_ptr, neighbours, key_ptr, key_entities


@inner_jit
def find_segment(entity_ptr, segment_key, entity, key):
    """Return the number of the segment of `entity` with the step `key`, or -1."""
    low, count = entity_ptr[entity], entity_ptr[entity + 1] - entity_ptr[entity]
    if count == 0:
        return -1
    # the last that is not greater; without a branch to be guessed wrongly half of the time
    while count > 1:
        half = count >> 1
        low += half * (segment_key[low + half] <= key)
        count -= half
    return low if segment_key[low] == key else -1


@inner_jit
def has_edge(entity_ptr, segment_key, segment_ptr, neighbours, entity, key, other):
    """Tell whether the step `key` leads from `entity` to `other`."""
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
def contains(entity_ptr, segment_key, segment_ptr, neighbours, triples):
    """Tell for each of `triples`, int32[n, 3], whether it is in the adjacency: bool[n]."""
    found = np.empty(len(triples), np.bool_)
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
    return found
