"""Frontiers: the entities that a prefix of a body reaches, each once, step by step.

A row of a frontier is an entity and what `kgagg.engine.kernels.families` says of the paths to it.
The frontier of a node of the trie is made once for a query and shared by all rules below. The last
step is walked forward from the frontier, or back from the candidates that are of interest.
"""

from __future__ import annotations

import numpy as np

from kgagg.engine.kernels.families import allows, are_disjoint, avoids, intersect, is_needed
from kgagg.engine.kernels.layout import (
    DEPTH,
    FAMILY,
    KEY,
    MARK_STAMP,
    MARKED,
    NEED,
    PARENT,
    QUERY,
    STAMP,
    USED,
)
from kgagg.graph.edges import find_segment
from kgagg.jit import inner_kernels

inner_jit = inner_kernels(allocates=False)


@inner_jit
def row_stride(inner, family):
    """Length of a row of a frontier: the entity; from depth two also its sets, the number first.

    A core is a single set, and its number that of its entities.
    """
    return 1 if inner == 0 else 2 + family * inner


@inner_jit
def first_frontier(facts, segment, arena, used, entity, branching):
    """Write the neighbours of `entity` as a frontier; return where it ends, or -1 if full."""
    neighbours = facts.neighbours
    first, last = facts.segment_ptr[segment], facts.segment_ptr[segment + 1]
    if branching > 0 and last - first > branching:
        return used
    if used + last - first > len(arena):
        return -1
    for i in range(first, last):
        if neighbours[i] != entity:
            arena[used] = neighbours[i]
            used += 1
    return used


@inner_jit
def next_frontier(
    facts,
    walk,
    start,
    stop,
    used,
    inner,
    family,
    above_family,
    more,
    key,
    entity,
    stamp,
    branching,
):
    """Walk one step `key` from the frontier in ``walk.arena[start:stop]``.

    Returns where the new frontier, which begins at `used`, ends, or -1 if there is no room.
    """
    # long: one step from a whole frontier; each part would take all of its arrays
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    arena, row_of, path = walk.arena, walk.row, walk.path
    stride, above_stride = row_stride(inner, family), row_stride(inner - 1, above_family)
    room = len(arena) - 2 * stride
    for row in range(start, stop, above_stride):
        via = arena[row]
        segment = find_segment(entity_ptr, segment_key, via, key)
        if segment < 0:
            continue
        first, last = segment_ptr[segment], segment_ptr[segment + 1]
        if branching > 0 and last - first > branching:
            continue
        for i in range(np.uintp(first), np.uintp(last)):
            reached = np.uint32(neighbours[i])
            if reached == entity or reached == via:
                continue
            # room for one more row, and for one more set to try
            if used > room:
                return -1
            new = row_of[reached, 0] != stamp
            if new:
                if inner > 1 and not avoids(arena, row + 2, arena[row + 1], inner - 1, reached):
                    continue
                row_of[reached, 0] = stamp
                row_of[reached, 1] = used
                arena[used], arena[used + 1] = reached, 0
                used += stride
            at = np.int64(row_of[reached, 1])
            count = np.int64(arena[at + 1])
            if inner == 1:
                # an entity stands once in the frontier, so `via` is new here
                if new or (more > 1 and count < family):
                    arena[at + 2 + count] = via
                    arena[at + 1] = count + 1
                elif more == 1:
                    arena[at + 1] = 0
                continue
            if not new and count <= 0:
                continue
            for j in range(abs(arena[row + 1])):
                # the new set is written behind the last row
                given = row + 2 + j * (inner - 1)
                free = True
                for k in range(inner - 1):
                    arena[used + k] = arena[given + k]
                    free &= arena[given + k] != reached
                if not free:
                    continue
                arena[used + inner - 1] = via
                if more == 1:
                    if new:
                        count, new = inner, False
                        for k in range(inner):
                            arena[at + 2 + k] = arena[used + k]
                    else:
                        count = intersect(arena, at + 2, count, used, inner)
                        if count == 0:
                            break
                elif is_needed(arena, at + 2, count, inner, more, used, path):
                    for k in range(inner):
                        arena[at + 2 + count * inner + k] = arena[used + k]
                    count += 1
                    if count == family or (
                        count == more + 1 and are_disjoint(arena, at + 2, count, inner)
                    ):
                        # no further set can be needed, which a negative number says
                        count = -count
                        break
            arena[at + 1] = count
    return used


@inner_jit
def find_frontier(facts, node, walk, frontiers, state, wanted, entity, branching):
    """Make sure that the frontier of the node `wanted` is there for this query; False if full."""
    entity_ptr, segment_key, _segment_ptr, _neighbours = facts
    memo, climb = frontiers
    query = state[QUERY]
    # climb to the lowest node above that is there already, or to the root
    missing = 0
    above = wanted
    while node[above, DEPTH] > 0 and memo[above, 0] != query:
        climb[missing] = above
        above = node[above, PARENT]
        missing += 1
    for i in range(missing - 1, -1, -1):
        below = climb[i]
        used = state[USED]
        if node[below, DEPTH] == 1:
            segment = find_segment(entity_ptr, segment_key, entity, node[below, KEY])
            stop = first_frontier(facts, segment, walk.arena, used, entity, branching)
        else:
            state[STAMP] += 1
            state[MARKED], state[MARK_STAMP] = below, state[STAMP]
            stop = next_frontier(
                facts,
                walk,
                memo[above, 1],
                memo[above, 2],
                used,
                node[below, DEPTH] - 1,
                node[below, FAMILY],
                node[above, FAMILY],
                node[below, NEED],
                node[below, KEY],
                entity,
                np.int32(state[STAMP]),
                branching,
            )
        if stop < 0:
            return False
        memo[below, 0], memo[below, 1], memo[below, 2] = query, used, stop
        state[USED] = stop
        above = below
    return True


@inner_jit
def walk_end(facts, walk, start, stop, inner, family, more, key, entity, stamp, bound):
    """Collect in `walk.found` what the last step `key` reaches from a frontier.

    The frontier is in ``walk.arena[start:stop]``.

    Returns how many there are, but 0 if there are `bound` or more and `bound` is positive.
    """
    # long: what a walk needs, which is no record of its own
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    arena, seen, found = walk.arena, walk.seen, walk.found
    count = 0
    for row in range(start, stop, row_stride(inner, family)):
        via = arena[row]
        segment = find_segment(entity_ptr, segment_key, via, key)
        if segment < 0:
            continue
        # most rows have no core, or one of a single entity
        core = arena[row + 1] if inner > 0 else np.int32(0)
        only = arena[row + 2] if core == 1 and more == 1 else np.int32(-1)
        search = core != 0 and only < 0
        for i in range(np.uintp(segment_ptr[segment]), np.uintp(segment_ptr[segment + 1])):
            reached = np.uint32(neighbours[i])
            if seen[reached] == stamp or reached == entity or reached == via or reached == only:
                continue
            if search and not allows(arena, row, inner, more, reached):
                continue
            seen[reached] = stamp
            found[count] = reached
            count += 1
        if bound > 0 and count >= bound:
            return 0
    return count


@inner_jit
def meet(facts, walk, pool, links, link, inner, more, entity, stamp):
    """Collect in `walk.found` the pool's members that the last step reaches from a marked frontier.

    Each member with an edge of that step (chained from `link` on) looks back along it for an
    entity of the frontier, and stops at the first.
    """
    segment_ptr, neighbours = facts.segment_ptr, facts.neighbours
    arena, row_of, found = walk.arena, walk.row, walk.found
    count = 0
    while link >= 0:
        member = pool[links[link, 1]]
        segment = links[link, 2]
        link = links[link, 0]
        if member == entity:
            continue
        for i in range(np.uintp(segment_ptr[segment]), np.uintp(segment_ptr[segment + 1])):
            via = np.uint32(neighbours[i])
            if row_of[via, 0] != stamp or via == member:
                continue
            if not allows(arena, np.int64(row_of[via, 1]), inner, more, member):
                continue
            found[count] = member
            count += 1
            break
    return count
