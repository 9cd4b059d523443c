"""Kernels that find names, given as slices of a byte buffer, in a hash table.

A table of names is three arrays: `blob` (uint8, the names one after the other), `offsets` (int64,
where each name starts, one more than there are names) and `table` (int32, open addressing with
linear probing, -1 where free; its length is a power of two).
"""

from __future__ import annotations

import numpy as np
from numba import uint64 as U64

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)


@inner_jit
def word(buffer, i):
    """Return the eight bytes from position `i` on as one number."""
    # unsigned positions, with which the compiler makes one load of the eight
    return (
        U64(buffer[i])
        | U64(buffer[i + U64(1)]) << U64(8)
        | U64(buffer[i + U64(2)]) << U64(16)
        | U64(buffer[i + U64(3)]) << U64(24)
        | U64(buffer[i + U64(4)]) << U64(32)
        | U64(buffer[i + U64(5)]) << U64(40)
        | U64(buffer[i + U64(6)]) << U64(48)
        | U64(buffer[i + U64(7)]) << U64(56)
    )


@inner_jit
def hash_bytes(buffer, start, stop):
    """Hash ``buffer[start:stop]``, eight bytes at a time, to 64 bits."""
    i, end = U64(start), U64(stop)
    value = end - i
    while i + U64(8) <= end:
        value = (value ^ word(buffer, i)) * U64(0x9E3779B97F4A7C15)
        value ^= value >> U64(29)
        i += U64(8)
    last = U64(0)
    while i < end:
        last = last << U64(8) | U64(buffer[i])
        i += U64(1)
    value = (value ^ last) * U64(0x9E3779B97F4A7C15)
    return value ^ value >> U64(32)


@inner_jit
def _same(blob, first, buffer, start, length):
    """Return whether ``blob[first:]`` and ``buffer[start:]`` begin with the same `length` bytes."""
    i, j, end = U64(first), U64(start), U64(first + length)
    while i + U64(8) <= end:
        if word(blob, i) != word(buffer, j):
            return False
        i += U64(8)
        j += U64(8)
    while i < end:
        if blob[i] != buffer[j]:
            return False
        i += U64(1)
        j += U64(1)
    return True


@inner_jit
def _slot(blob, offsets, table, buffer, start, stop):
    """Position in `table` of the name ``buffer[start:stop]``, or of the free slot for it."""
    mask = len(table) - 1
    slot = np.int64(hash_bytes(buffer, start, stop) & U64(mask))
    length = stop - start
    while True:
        found = table[slot]
        if found < 0:
            return slot
        first = offsets[found]
        if offsets[found + 1] - first == length and _same(blob, first, buffer, start, length):
            return slot
        slot = (slot + 1) & mask


@inner_jit
def find(blob, offsets, table, buffer, start, stop):
    """Return the identifier of the name ``buffer[start:stop]``, or -1."""
    return table[_slot(blob, offsets, table, buffer, start, stop)]


@inner_jit
def intern(blob, offsets, table, count, buffer, start, stop):
    """Return the identifier of the name ``buffer[start:stop]``, which is `count` if it is new.

    The caller makes sure that there is room for one more name in all three arrays.
    """
    slot = _slot(blob, offsets, table, buffer, start, stop)
    if table[slot] < 0:
        table[slot] = count
        first = offsets[count]
        for i in range(stop - start):
            blob[first + i] = buffer[start + i]
        offsets[count + 1] = first + stop - start
    return table[slot]


@jit
def find_name(blob, offsets, table, name):
    """Return the identifier of `name`, uint8[*], or -1."""
    return find(blob, offsets, table, name, 0, len(name))


@jit
def intern_name(blob, offsets, table, count, name):
    """Return the identifier of `name`, uint8[*], which is `count` if it is new (see `intern`)."""
    return intern(blob, offsets, table, count, name, 0, len(name))


@jit
def rebuild(blob, offsets, count, table):
    """Fill an empty `table` with the names 0 to `count` - 1."""
    for name in range(count):
        table[_slot(blob, offsets, table, blob, offsets[name], offsets[name + 1])] = name


@jit
def translate(blob, offsets, other_blob, other_offsets, other_table, result):
    """Find each name of one vocabulary in another: its identifier there, or -1."""
    for i in range(len(offsets) - 1):
        result[i] = find(other_blob, other_offsets, other_table, blob, offsets[i], offsets[i + 1])
