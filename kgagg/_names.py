"""Kernels that find names, given as slices of a byte buffer, in a hash table.

A table of names is three arrays: `blob` (uint8, the names one after the other), `offsets` (int64,
where each name starts, one more than there are names) and `table` (int32, open addressing with
linear probing, -1 where free; its length is a power of two).
"""

from __future__ import annotations

import numpy as np

from kgagg._compile import kernels

jit = kernels(__file__)


@jit
def hash_bytes(buffer, start, stop):
    """FNV-1a of ``buffer[start:stop]``, with the high bits folded into the low ones."""
    value = np.uint64(14695981039346656037)
    for i in range(start, stop):
        value = (value ^ np.uint64(buffer[i])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(32))


@jit
def _slot(blob, offsets, table, buffer, start, stop):
    """Position in `table` of the name ``buffer[start:stop]``, or of the free place for it."""
    mask = len(table) - 1
    slot = np.int64(hash_bytes(buffer, start, stop) & np.uint64(mask))
    length = stop - start
    while True:
        found = table[slot]
        if found < 0:
            return slot
        first = offsets[found]
        if offsets[found + 1] - first == length:
            same = True
            for i in range(length):
                if blob[first + i] != buffer[start + i]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask


@jit
def find(blob, offsets, table, buffer, start, stop):
    """Identifier of the name ``buffer[start:stop]``, or -1."""
    return table[_slot(blob, offsets, table, buffer, start, stop)]


@jit
def intern(blob, offsets, table, count, buffer, start, stop):
    """Identifier of the name ``buffer[start:stop]``, which becomes `count` if it is new.

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
def rebuild(blob, offsets, count, table):
    """Fill an empty `table` with the names 0 to `count` - 1."""
    for name in range(count):
        table[_slot(blob, offsets, table, blob, offsets[name], offsets[name + 1])] = name
