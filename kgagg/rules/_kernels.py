"""Kernels that read plain lines of AnyBURL's text form.

A line is plain if no name in it has one of ``( ) ,`` or a tab, its variables are named in the order
of the path, and its numbers have no needless digits. All other lines are left to the parser of
`kgagg.rules.anyburl`, which would read the plain ones in the same way.
"""

from __future__ import annotations

import numpy as np

from kgagg import _names
from kgagg._compile import kernels
from kgagg._names import find, hash_bytes, intern

jit = kernels(__file__, _names.__file__)

# what became of a line: a rule, nothing yet, nothing to become
RULE, OTHER, SKIP = 0, 1, 2

# the columns of a line; start and stop of its text and of the keys of its body
STATUS, START, STOP, KIND, FLAGS, RELATION, HEAD, BODY = range(8)
KEYS, KEYS_END, PREDICTED, CORRECT = range(8, 12)
COLUMNS = 12

_TAB, _LF, _CR, _BLANK, _HASH = 9, 10, 13, 32, 35
_OPEN, _CLOSE, _COMMA, _DIGIT, _LESS, _EQUAL = 40, 41, 44, 48, 60, 61
_A, _W, _X, _Y, _Z = 65, 87, 88, 89, 90
_CYCLIC, _CONSTANT, _DANGLING, _ZERO, _GENERAL = 0, 1, 2, 3, 4
_SIDE = 1
_NONE, _ME = -1, -2

# rows of the slices of a line: head relation, both constants, relations of the body
_HEAD_CONSTANT, _BODY_CONSTANT, _STEPS = 1, 2, 3
_SLICES = 3 + _W - _A + 1


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

    Returns
    -------
    int
        How many keys there are.
    """
    slices = np.empty((_SLICES, 2), np.int64)
    directions = np.empty(_SLICES, np.int64)
    position = 0
    used = 0
    for i in range(len(rows)):
        start = position
        while buffer[position] != _LF:
            position += 1
        stop = position
        position += 1
        while stop > start and buffer[stop - 1] == _CR:
            stop -= 1
        row = rows[i]
        row[START], row[STOP] = start, stop
        row[KEYS] = row[KEYS_END] = used
        if start == stop or buffer[start] == _HASH:
            row[STATUS] = SKIP
            continue
        row[STATUS] = OTHER
        steps = _cut_line(buffer, row, hashes[i : i + 1], slices, directions)
        if steps < 0:
            continue
        known = True
        for j in range(_STEPS + steps):
            if slices[j, 0] < 0:
                continue
            first, last = slices[j]
            if j == _HEAD_CONSTANT or j == _BODY_CONSTANT:
                if _is_me(buffer, first, last, me):
                    name = _ME
                elif counts[0] < 0:
                    name = find(entity_blob, entity_offsets, entity_table, buffer, first, last)
                else:
                    name = intern(
                        entity_blob, entity_offsets, entity_table, counts[0], buffer, first, last
                    )
                    counts[0] = max(counts[0], name + 1)
                row[HEAD if j == _HEAD_CONSTANT else BODY] = name
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
                    row[RELATION] = name
                else:
                    keys[used + j - _STEPS] = 2 * name + directions[j]
            known &= name != _NONE
        if known:
            used += steps
            row[KEYS_END] = used
            row[STATUS] = RULE
    return used


@jit
def _cut_line(buffer, row, written, slices, directions):
    """Find the names of a plain line; return the number of its steps, or -1.

    A slice that starts at -1 is a constant that the rule does not have.
    """
    stop = row[STOP]
    value, tab = _number(buffer, row[START], stop)
    row[PREDICTED] = value
    if tab < 0:
        return -1
    value, last = _number(buffer, tab + 1, stop)
    row[CORRECT] = value
    if last < 0 or value > row[PREDICTED]:
        return -1
    tab = last + 1
    while tab < stop and buffer[tab] != _TAB:
        tab += 1
    written[0] = hash_bytes(buffer, last + 1, tab)

    # the head: where the path starts, and where it must end
    end = _cut_atom(buffer, tab + 1, stop, slices[0], slices[1], slices[2])
    if end < 0 or stop - end < 4 or buffer[end] != _BLANK or buffer[end + 1] != _LESS:
        return -1
    if buffer[end + 2] != _EQUAL or buffer[end + 3] != _BLANK:
        return -1
    here, goal = _letter(buffer, slices[1]), _letter(buffer, slices[2])
    row[FLAGS] = 0
    if here == _X and goal == _Y:
        row[KIND] = _CYCLIC
        slices[_HEAD_CONSTANT, 0] = -1
    elif here == _X and goal == 0:
        row[KIND] = _ZERO
        slices[_HEAD_CONSTANT] = slices[2]
    elif here == 0 and goal == _Y:
        row[KIND] = _ZERO
        row[FLAGS] = _SIDE
        here = _Y
    else:
        return -1
    slices[_BODY_CONSTANT, 0] = -1
    row[HEAD] = row[BODY] = _NONE

    position = end + 4
    if position == stop:
        return -1 if row[KIND] == _CYCLIC else 0
    fresh = _A
    left, right = np.empty(2, np.int64), np.empty(2, np.int64)
    for step in range(_W - _A + 1):
        j = _STEPS + step
        end = _cut_atom(buffer, position, stop, slices[j], left, right)
        if end < 0:
            return -1
        first, second = _letter(buffer, left), _letter(buffer, right)
        if (first == here) == (second == here):
            return -1
        directions[j] = 0 if first == here else 1
        here = second if first == here else first
        if end == stop:
            if row[KIND] == _CYCLIC:
                return step + 1 if here == _Y else -1
            if here == fresh:
                row[KIND] = _DANGLING
            elif here == 0:
                row[KIND] = _CONSTANT
                slices[_BODY_CONSTANT] = left if directions[j] else right
            else:
                return -1
            return step + 1
        if here != fresh or stop - end < 3 or buffer[end] != _COMMA or buffer[end + 1] != _BLANK:
            return -1
        fresh += 1
        position = end + 2
    return -1


@jit
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
    return np.int64(0), -1


@jit
def _cut_atom(buffer, start, stop, relation, left, right):
    """Find the three names of an atom; return where it ends, or -1."""
    opened = _until(buffer, start, stop, _OPEN)
    comma = _until(buffer, opened + 1, stop, _COMMA) if opened > start else -1
    closed = _until(buffer, comma + 1, stop, _CLOSE) if comma > opened + 1 else -1
    if closed <= comma + 1:
        return -1
    relation[0], relation[1] = start, opened
    left[0], left[1] = opened + 1, comma
    right[0], right[1] = comma + 1, closed
    return closed + 1


@jit
def _until(buffer, start, stop, wanted):
    """Position of `wanted`, or -1 if another special byte or the end comes first."""
    for i in range(start, stop):
        byte = buffer[i]
        if byte <= _COMMA:
            if byte == wanted:
                return i
            if byte == _OPEN or byte == _CLOSE or byte == _COMMA or byte == _TAB:
                return -1
    return -1


@jit
def _letter(buffer, term):
    """Return the capital letter that a term is, or 0."""
    if term[1] - term[0] == 1 and _A <= buffer[term[0]] <= _Z:
        return np.int64(buffer[term[0]])
    return np.int64(0)


@jit
def _is_me(buffer, start, stop, me):
    if stop - start != len(me):
        return False
    for i in range(len(me)):
        if buffer[start + i] != me[i]:
            return False
    return True


@jit
def intern_bodies(rows, keys, blob, offsets, table, count, general, bodies):
    """Number the bodies of the lines that are rules, either the general ones or the others.

    `keys` are all keys as bytes: a body is interned as a name, whose bytes are its keys. Returns
    how many bodies there are.
    """
    for i in range(len(rows)):
        if rows[i, STATUS] == RULE and (rows[i, KIND] == _GENERAL) == general:
            bodies[i] = intern(
                blob, offsets, table, count, keys, 4 * rows[i, KEYS], 4 * rows[i, KEYS_END]
            )
            count = max(count, bodies[i] + 1)
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
def first_of_each(kind, flags, relation, head_constant, body_constant, body):
    """Tell for each rule whether no rule before is the same: bool[n]."""
    size = 1
    while size < 2 * len(kind):
        size *= 2
    table = np.full(size, -1, np.int32)
    first = np.ones(len(kind), np.bool_)
    for i in range(len(kind)):
        value = np.uint64(body[i])
        for part in (relation[i], head_constant[i], body_constant[i], np.int32(flags[i] & 3)):
            value = (value ^ np.uint64(np.uint32(part))) * np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(29)
        slot = np.int64(value & np.uint64(size - 1))
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
                first[i] = False
                break
            slot = (slot + 1) & (size - 1)
        if first[i]:
            table[slot] = i
    return first


@jit
def translate(blob, offsets, other_blob, other_offsets, other_table, result):
    """Find each name of one vocabulary in another: its identifier there, or -1."""
    for i in range(len(offsets) - 1):
        result[i] = find(other_blob, other_offsets, other_table, blob, offsets[i], offsets[i + 1])


@jit
def number_by_use(values, numbers, order, count):
    """Number identifiers in the order in which they come, as if they had been interned.

    `numbers`, int32[identifiers], holds the numbers so far, -1 for none, and `order` the
    identifiers that have one. Returns the numbers of `values`, negative ones as they are, and how
    many identifiers have a number now.
    """
    result = np.empty(len(values), np.int32)
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
    return result, count


@jit
def gather(values, ptr, order):
    """Return the parts ``values[ptr[i]:ptr[i + 1]]`` for each i of `order`, one after the other."""
    size = 0
    for i in order:
        size += ptr[i + 1] - ptr[i]
    result = np.empty(size, values.dtype)
    position = 0
    for i in order:
        for j in range(ptr[i], ptr[i + 1]):
            result[position] = values[j]
            position += 1
    return result
