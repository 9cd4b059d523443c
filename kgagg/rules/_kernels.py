"""Kernels that read plain lines of AnyBURL's text form, and write lines.

A line is plain if no name in it has one of ``( ) ,`` or a tab, its variables are named in the order
of the path, and its numbers have no needless digits. All other lines are left to the parser of
`kgagg.rules.dialects.anyburl`, which would read the plain ones in the same way.
"""

from __future__ import annotations

import numpy as np
from numba import uint64 as U64

from kgagg.graph.interning import find, hash_bytes, intern, word
from kgagg.jit import inner_kernels, kernels
from kgagg.rules.shapes import CONSTANT, CYCLIC, DANGLING, GENERAL, ME_ID, NONE_ID, SIDE, ZERO

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)

# what became of a line: a rule, nothing yet, nothing to become
RULE, OTHER, SKIP = 0, 1, 2

# the columns of a line; start and stop of its text and of the keys of its body
STATUS, START, STOP, KIND, FLAGS, RELATION, HEAD, BODY = range(8)
KEYS, KEYS_END, PREDICTED, CORRECT = range(8, 12)
COLUMNS = 12

_TAB, _LF, _CR, _BLANK, _HASH = 9, 10, 13, 32, 35
_OPEN, _CLOSE, _COMMA, _DIGIT, _LESS, _EQUAL = 40, 41, 44, 48, 60, 61
_A, _W, _X, _Y, _Z, _BACKSLASH = 65, 87, 88, 89, 90, 92

# rows of the slices of a line: head relation, both constants, relations of the body
_HEAD_CONSTANT, _BODY_CONSTANT, _STEPS = 1, 2, 3
SLICES = 3 + _W - _A + 1


@jit
def read_block(
    buffer,
    rows,
    hashes,
    keys,
    entity_blob,
    entity_offsets,
    entity_table,
    relation_blob,
    relation_offsets,
    relation_table,
    counts,
    me,
    slices,
):
    """Read the lines of a block, which ends with a line end.

    Parameters
    ----------
    buffer : uint8[bytes]
        Whole lines.
    rows : int32[lines, COLUMNS]
        Takes the columns of each line.
    hashes : uint64[lines]
        Takes a hash of the confidence as it is written.
    keys : int32[...]
        Takes the step keys of the bodies; room for a sixth of the bytes.
    entity_blob, entity_offsets, entity_table, relation_blob, relation_offsets, relation_table
        The names.
    counts : int64[2]
        How many entities and relations there are if new names are added, which needs room in the
        arrays; -1 if new names are unknown.
    me : uint8[...]
        The name of the reflexive token.
    slices : int64[SLICES, 3]
        Working space: where each name of a line starts and stops, and the direction of a step.

    Returns
    -------
    int
        How many keys there are.
    """
    # long: one pass over the lines, with the tables of names
    position = 0
    used = 0
    for i in range(len(rows)):
        start = position
        while buffer[position] != _LF:
            position = _skip(buffer, position + 1, len(buffer), _LF + 1)
        stop = position
        position += 1
        while stop > start and buffer[stop - 1] == _CR:
            stop -= 1
        rows[i, START], rows[i, STOP] = start, stop
        rows[i, KEYS] = rows[i, KEYS_END] = used
        if start == stop or buffer[start] == _HASH:
            rows[i, STATUS] = SKIP
            continue
        rows[i, STATUS] = OTHER
        steps = _cut_line(buffer, rows, hashes, i, slices)
        if steps < 0:
            continue
        known = True
        for j in range(_STEPS + steps):
            first, last = slices[j, 0], slices[j, 1]
            if first < 0:
                continue
            if j in (_HEAD_CONSTANT, _BODY_CONSTANT):
                if _is_me(buffer, first, last, me):
                    name = ME_ID
                elif counts[0] < 0:
                    name = find(entity_blob, entity_offsets, entity_table, buffer, first, last)
                else:
                    name = intern(
                        entity_blob, entity_offsets, entity_table, counts[0], buffer, first, last
                    )
                    counts[0] = max(counts[0], name + 1)
                rows[i, HEAD if j == _HEAD_CONSTANT else BODY] = name
            else:
                if counts[1] < 0:
                    name = find(
                        relation_blob, relation_offsets, relation_table, buffer, first, last
                    )
                else:
                    name = intern(
                        relation_blob,
                        relation_offsets,
                        relation_table,
                        counts[1],
                        buffer,
                        first,
                        last,
                    )
                    counts[1] = max(counts[1], name + 1)
                if j == 0:
                    rows[i, RELATION] = name
                else:
                    keys[used + j - _STEPS] = 2 * name + slices[j, 2]
            known &= name != NONE_ID
        if known:
            used += steps
            rows[i, KEYS_END] = used
            rows[i, STATUS] = RULE
    return used


@inner_jit
def _cut_line(buffer, rows, hashes, i, slices):
    """Find the names of a plain line; return the number of its steps, or -1.

    A slice that starts at -1 is a constant that the rule does not have.
    """
    # long: one line from its first byte to its last
    stop = rows[i, STOP]
    predicted, tab = _number(buffer, rows[i, START], stop)
    correct, last = _number(buffer, tab + 1, stop)
    if tab < 0 or last < 0 or correct > predicted:
        return -1
    rows[i, PREDICTED], rows[i, CORRECT] = predicted, correct
    tab = last + 1
    while tab < stop and buffer[tab] != _TAB:
        tab += 1
    hashes[i] = hash_bytes(buffer, last + 1, tab)

    # the head: where the path starts, and where it must end
    opened, comma, closed = _cut_atom(buffer, tab + 1, stop)
    position = closed + 5
    if (
        closed < 0
        or position > stop
        or buffer[closed + 1] != _BLANK
        or buffer[closed + 2] != _LESS
        or buffer[closed + 3] != _EQUAL
        or buffer[closed + 4] != _BLANK
    ):
        return -1
    slices[0, 0], slices[0, 1] = tab + 1, opened
    slices[_HEAD_CONSTANT, 0] = slices[_BODY_CONSTANT, 0] = -1
    rows[i, HEAD] = rows[i, BODY] = NONE_ID
    here = _letter(buffer, opened + 1, comma)
    goal = _letter(buffer, comma + 1, closed)
    rows[i, FLAGS] = 0
    if here == _X and goal == _Y:
        kind = CYCLIC
    elif here == _X and goal == 0:
        kind = ZERO
        slices[_HEAD_CONSTANT, 0], slices[_HEAD_CONSTANT, 1] = comma + 1, closed
    elif here == 0 and goal == _Y:
        kind = ZERO
        rows[i, FLAGS] = SIDE
        here = goal
        slices[_HEAD_CONSTANT, 0], slices[_HEAD_CONSTANT, 1] = opened + 1, comma
    else:
        return -1
    rows[i, KIND] = kind
    if position == stop:
        return -1 if kind == CYCLIC else 0

    fresh = _A
    for j in range(_STEPS, SLICES):
        opened, comma, closed = _cut_atom(buffer, position, stop)
        if closed < 0:
            return -1
        slices[j, 0], slices[j, 1] = position, opened
        left = _letter(buffer, opened + 1, comma)
        right = _letter(buffer, comma + 1, closed)
        if (left == here) == (right == here):
            return -1
        slices[j, 2] = right == here
        here = left if right == here else right
        if closed + 1 == stop:
            if kind == CYCLIC:
                return j - _STEPS + 1 if here == _Y else -1
            if here == 0:
                rows[i, KIND] = CONSTANT
                slices[_BODY_CONSTANT, 0] = opened + 1 if slices[j, 2] else comma + 1
                slices[_BODY_CONSTANT, 1] = comma if slices[j, 2] else closed
            elif here == fresh:
                rows[i, KIND] = DANGLING
            else:
                return -1
            return j - _STEPS + 1
        position = closed + 3
        if (
            here != fresh
            or position >= stop
            or buffer[closed + 1] != _COMMA
            or buffer[closed + 2] != _BLANK
        ):
            return -1
        fresh += 1
    return -1


@inner_jit
def _number(buffer, start, stop):
    """Read digits up to a tab: the number, and where the tab is or -1 if they are not plain."""
    value = np.int64(0)
    for i in range(start, min(start + 10, stop)):
        digit = np.int64(buffer[i]) - _DIGIT
        if buffer[i] == _TAB:
            plain = i > start and (buffer[start] != _DIGIT or i - start == 1)
            return value, (i if plain else -1)
        if digit < 0 or digit > 9:
            break
        value = value * 10 + digit
    return value, -1


@inner_jit
def _cut_atom(buffer, start, stop):
    """Return where an atom has its parenthesis, comma and parenthesis; last -1 if not plain."""
    opened = _until(buffer, start, stop, _OPEN)
    comma = _until(buffer, opened + 1, stop, _COMMA) if opened > start else -1
    closed = _until(buffer, comma + 1, stop, _CLOSE) if comma > opened + 1 else -1
    return opened, comma, closed if closed > comma + 1 else -1


@inner_jit
def _until(buffer, start, stop, wanted):
    """Return the position of `wanted`, or -1 if another special byte or the end comes first."""
    i = _skip(buffer, start, stop, _COMMA + 1)
    while i < stop:
        byte = buffer[i]
        if byte == wanted:
            return i
        if byte in (_OPEN, _CLOSE, _COMMA, _TAB):
            return -1
        i = _skip(buffer, i + 1, stop, _COMMA + 1)
    return -1


@inner_jit
def _skip(buffer, start, stop, least):
    """Return the first position that may have a byte below `least`, or `stop`."""
    i, end = U64(start), U64(stop)
    ones = U64(0x0101010101010101)
    while i + U64(8) <= end:
        eight = word(buffer, i)
        # the high bit of a byte stays set if the byte is smaller
        if (eight - ones * U64(least)) & ~eight & (ones * U64(128)):
            break
        i += U64(8)
    while i < end and buffer[i] >= least:
        i += U64(1)
    return np.int64(i)


@inner_jit
def _letter(buffer, start, stop):
    """Return the capital letter that a term is, 0 for a name, -1 for one that may be escaped."""
    if stop - start == 1 and _A <= buffer[start] <= _Z:
        return np.int64(buffer[start])
    # an escaped name is left to the parser
    return np.int64(-1 if buffer[start] == _BACKSLASH else 0)


@inner_jit
def _is_me(buffer, start, stop, me):
    """Return whether a name is the reflexive token."""
    same = stop - start == len(me)
    i = 0
    while same and i < len(me):
        same = buffer[start + i] == me[i]
        i += 1
    return same


@jit
def intern_bodies(rows, keys, blob, offsets, table, count, general, bodies):
    """Give numbers to the bodies of rules, either of the general ones or of the others.

    `keys` are all keys as bytes: a body is interned as a name, whose bytes are its keys. Returns
    how many bodies there are.
    """
    for i in range(len(rows)):
        if rows[i, STATUS] == RULE and (rows[i, KIND] == GENERAL) == general:
            bodies[i] = intern(
                blob, offsets, table, count, keys, 4 * rows[i, KEYS], 4 * rows[i, KEYS_END]
            )
            count = max(count, bodies[i] + 1)
    return count


@jit
def intern_pairs(pairs, blob, offsets, table, count, numbers):
    """Give numbers to pairs, which are bytes in eights; return how many there are."""
    for i in range(len(numbers)):
        numbers[i] = intern(blob, offsets, table, count, pairs, 8 * i, 8 * i + 8)
        count = max(count, numbers[i] + 1)
    return count


@jit
def hash_lines(buffer, hashes):
    """Hash each line of a buffer that ends with a line end."""
    start = 0
    for i in range(len(hashes)):
        stop = start
        while buffer[stop] != _LF:
            stop += 1
        hashes[i] = hash_bytes(buffer, start, stop)
        start = stop + 1


@jit
def first_of_each(kind, flags, relation, head_constant, body_constant, body, table, first):
    """Find the rules that no earlier rule equals.

    `table`, int32[*], is a hash table with room for n rules (see `free_table`).
    `first`, bool[n], takes the answers.
    """
    for i in range(len(kind)):
        value = np.uint64(body[i])
        for part in (relation[i], head_constant[i], body_constant[i], np.int32(flags[i] & 3)):
            value = (value ^ np.uint64(np.uint32(part))) * np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(29)
        slot = np.int64(value & np.uint64(len(table) - 1))
        while table[slot] >= 0:
            j = table[slot]
            if (
                body[j] == body[i]
                and relation[j] == relation[i]
                and head_constant[j] == head_constant[i]
                and body_constant[j] == body_constant[i]
                and kind[j] == kind[i]
                and (flags[j] ^ flags[i]) & 3 == 0
            ):
                break
            slot = (slot + 1) & (len(table) - 1)
        first[i] = table[slot] < 0
        if first[i]:
            table[slot] = i


@jit
def number_by_use(values, numbers, order, count, result):
    """Renumber identifiers in the order in which they come, as if they had been interned.

    `numbers`, int32[identifiers], holds the numbers so far, -1 for none, and `order` the
    identifiers that have one. `result`, int32[n], takes the numbers of `values`, negative ones as
    they are. Returns how many identifiers have a number now.
    """
    for i in range(len(values)):
        value = values[i]
        if value < 0:
            result[i] = value
            continue
        if numbers[value] < 0:
            numbers[value] = count
            order[count] = value
            count += 1
        result[i] = numbers[value]
    return count


@jit
def gather(values, ptr, order, result):
    """Put the parts ``values[ptr[i]:ptr[i + 1]]`` for each i of `order`, one after the other."""
    position = 0
    for i in order:
        for j in range(ptr[i], ptr[i + 1]):
            result[position] = values[j]
            position += 1


@jit
def join_lines(blob, offsets, pieces, text):
    """Join lines from their pieces, and end each.

    Parameters
    ----------
    blob, offsets : uint8[bytes], int64[texts + 1]
        The texts.
    pieces : int32[lines, n]
        The texts of each line.
    text : uint8[...]
        Takes the lines; has just their size.
    """
    position = 0
    for i in range(len(pieces)):
        for j in range(pieces.shape[1]):
            for k in range(offsets[pieces[i, j]], offsets[pieces[i, j] + 1]):
                text[position] = blob[k]
                position += 1
        text[position] = _LF
        position += 1
