"""Writing: the candidates of a query in the order of MAX+, each with its best rules.

MAX+ compares two candidates by their best rules, where these are equal by the second best, and so
on; where one list of rules ends, the longer one wins.
"""

from __future__ import annotations

import numpy as np

from kgagg.engine.kernels.layout import (
    DONE,
    FIRES,
    GROW_OUTPUT,
    GROW_SCRATCH,
    LEVEL,
    LOW,
    MEMBERS,
    PIECES,
    ROWS,
    RULES,
)
from kgagg.engine.kernels.sorting import sort_packed
from kgagg.jit import inner_kernels

inner_jit = inner_kernels(allocates=False)


@inner_jit
def compare(rule, lists, list_ptr, one, other):
    """Compare two members of the pool by MAX+: negative if `one` comes first, 0 for a tie.

    Levels are compared in order; where one list of rules ends, the longer one wins.
    """
    i, j = list_ptr[one], list_ptr[other]
    i_end, j_end = list_ptr[one + 1], list_ptr[other + 1]
    while i < i_end and j < j_end:
        if lists[i] != lists[j]:
            a, b = rule[lists[i], LEVEL], rule[lists[j], LEVEL]
            if a != b:
                return -1 if a < b else 1
        i += 1
        j += 1
    return int(j < j_end) - int(i < i_end)


@inner_jit
def comes_first(rule, lists, list_ptr, pool, one, other):
    """Tell whether `one` comes before `other` by MAX+, or in a tie by its number."""
    difference = compare(rule, lists, list_ptr, one, other)
    return difference < 0 or (difference == 0 and pool[one] < pool[other])


@inner_jit
def sort_run(rule, lists, list_ptr, pool, order, start, stop):
    """Sort ``order[0, start:stop]`` by MAX+, ties by entity, merging ever longer runs."""
    # the predictions of a single rule often come sorted
    at = start + 1
    while at < stop and comes_first(rule, lists, list_ptr, pool, order[0, at - 1], order[0, at]):
        at += 1
    if at >= stop:
        return
    width = 1
    source, target = 0, 1
    while width < stop - start:
        for low in range(start, stop, 2 * width):
            middle, high = min(low + width, stop), min(low + 2 * width, stop)
            i, j = low, middle
            for k in range(low, high):
                left = j == high
                if not left and i < middle:
                    left = comes_first(
                        rule, lists, list_ptr, pool, order[source, i], order[source, j]
                    )
                if left:
                    order[target, k] = order[source, i]
                    i += 1
                else:
                    order[target, k] = order[source, j]
                    j += 1
        source, target = target, source
        width *= 2
    if source == 1:
        for i in range(start, stop):
            order[0, i] = order[1, i]


@inner_jit
def write(rules, state, pool, space, best, out):
    """Write what the pool holds; DONE, or what must grow."""
    rule, weight, member = rules.rule, rules.weight, pool.member
    fires, pieces, piece_start = pool.fires, pool.pieces, pool.piece_start
    list_ptr, lists, order, digits, buffer = space
    piece_count, fire_count, members = state[PIECES], state[FIRES], state[MEMBERS]
    if fire_count > len(lists) or members > len(pieces):
        return GROW_SCRATCH
    if state[ROWS] + members > len(out.candidate) or state[RULES] + fire_count > len(out.rules):
        return GROW_OUTPUT
    # the rules of each member, ascending
    sort_packed(pieces, buffer, digits, piece_count, len(rule))
    list_ptr[: members + 1] = 0
    for i in range(fire_count):
        list_ptr[fires[i] + 1] += 1
    for place in range(members):
        list_ptr[place + 1] += list_ptr[place]
        order[1, place] = 0
    for i in range(piece_count):
        one, piece = pieces[i] >> 32, pieces[i] & LOW
        stop = piece_start[piece + 1] if piece + 1 < piece_count else fire_count
        for j in range(piece_start[piece], stop):
            place = fires[j]
            lists[list_ptr[place] + order[1, place]] = one
            order[1, place] += 1
    # by the level of the first rule, then, where that is shared, by the rest
    for place in range(members):
        pieces[place] = (np.int64(rule[lists[list_ptr[place]], LEVEL]) << 32) | place
    sort_packed(pieces, buffer, digits, members, len(rule))
    start = np.int64(0)
    for i in range(members):
        order[0, i] = pieces[i] & LOW
        if i + 1 == members or pieces[i] >> 32 != pieces[i + 1] >> 32:
            sort_run(rule, lists, list_ptr, member, order, start, i + 1)
            start = np.int64(i + 1)
    row, rule_at, level = state[ROWS], state[RULES], 0
    for i in range(members):
        place = order[0, i]
        first, last = list_ptr[place], list_ptr[place + 1]
        if i > 0 and compare(rule, lists, list_ptr, order[0, i - 1], place) != 0:
            level = i
        strength = 0.0
        for j in range(first, last):
            strength += weight[lists[j]]
        kept = last - first
        if best > 0:
            kept = min(kept, best)
        for j in range(kept):
            out.rules[rule_at + j] = lists[first + j]
        rule_at += kept
        out.candidate[row] = member[place]
        out.rule_count[row] = last - first
        out.strength[row] = strength
        out.level[row] = level
        out.kept[row] = kept
        row += 1
    state[ROWS], state[RULES] = row, rule_at
    return DONE
