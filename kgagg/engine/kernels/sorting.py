"""Sorting and searching: radix sorts, a heap, and a search in what is sorted."""

from __future__ import annotations

from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)


@jit
def sort_rows(order, digits, starts, result):
    """Reorder `order`, int64[n], by `digits`, int32[*], stably; `digits` begin at -2.

    `starts` are zeros, int64[digits + 3]; `result`, int64[n], takes the rows.
    """
    for i in order:
        starts[digits[i] + 3] += 1
    for bucket in range(len(starts) - 1):
        starts[bucket + 1] += starts[bucket]
    for i in order:
        result[starts[digits[i] + 2]] = i
        starts[digits[i] + 2] += 1


@inner_jit
def sort_packed(values, buffer, digits, count, most):
    """Sort the first `count` of `values`, int64, by the high half, which is at most `most`."""
    for shift in range(32, 64, 8):
        if most >> (shift - 32) == 0:
            return
        digits[:] = 0
        for i in range(count):
            digits[(values[i] >> shift) & 255] += 1
        place = 0
        for digit in range(256):
            place, digits[digit] = place + digits[digit], place
        for i in range(count):
            digit = (values[i] >> shift) & 255
            buffer[digits[digit]] = values[i]
            digits[digit] += 1
        for i in range(count):
            values[i] = buffer[i]


@inner_jit
def sift(heap, size, at):
    """Let the entry `at` of a binary heap sink to its place."""
    entry = heap[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = entry


@inner_jit
def gallop(values, low, high, wanted):
    """First place from `low` on, before `high`, where ascending `values` reach `wanted`."""
    step = 1
    start = low
    while low + step < high and values[low + step] < wanted:
        low += step
        step *= 2
    high = min(high, low + step)
    if low == start and (low >= high or values[low] >= wanted):
        return low
    low += 1
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
