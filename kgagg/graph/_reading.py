"""Kernel that reads triples from text."""

from __future__ import annotations

from kgagg.graph.interning import intern
from kgagg.jit import kernels

jit = kernels(__file__, allocates=False)

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
    cuts,
):
    """Read the lines of `buffer`, which ends with a line end, into `triples`.

    Parameters
    ----------
    buffer : uint8[n]
    state : int64[6]
        Where to begin; updated, so that a call goes on where the last one returned.
    entity_blob, entity_offsets, entity_table, relation_blob, relation_offsets, relation_table
        The two tables of names (see `kgagg.graph.interning`), extended.
    triples : int32[rows, 3]
        Filled from row ``state[ROWS]`` on.
    cuts : int64[4]
        Working space: where the columns of a line begin.

    Returns
    -------
    int
        DONE, FULL (make room and call again), or what is wrong with line ``state[LINE]``.
    """
    # long: one state machine over the bytes of a block
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
