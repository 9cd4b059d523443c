"""Kernels of the native miner.

A *feature* is something that an entity x may have in a body or a head with one variable: the step
`key` leads from x to the constant d. The entities that have it are the segment of d by the step
back, so the number of that segment is the number of the feature. A dangling feature, that the step
leads anywhere at all, is numbered behind all segments by its key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgagg.engine.kernels.frontier import next_frontier, row_stride, walk_end
from kgagg.engine.kernels.layout import Walk
from kgagg.graph.edges import find_segment, has_edge
from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__)
inner_jit = inner_kernels()
bare_jit = kernels(__file__, allocates=False)

# columns of the table of nodes of a trie of bodies, which are in depth-first order: the step, how
# many steps from X, the next node that is not below, the body that ends here or -1, how many steps
# may follow, and the size of representative families (see `kgagg.engine.kernels.families`)
KEY, DEPTH, SKIP, BODY, NEED, FAMILY = range(6)
# usefulness is counted in levels: the number of correct predictions, up to GROUPS, then confidence
GROUPS, SHARES = 256, 16
LEVELS = GROUPS * SHARES


class Space(NamedTuple):
    """Working space of `count_bodies`."""

    walk: Walk  # stamps are zeros; its arena has at least as many places as there are entities
    level: np.ndarray  # int64[4, 64]: for each depth start and stop of the frontier, FAMILY, NEED
    linked: np.ndarray  # int32[entities, 2], zeros: stamp of the entity with a fact, first link
    link: np.ndarray  # int32[most edges of an entity, 2]: step key and next link


# --- bodies with one variable ---------------------------------------------------------------------


@jit
def features(entity_ptr, segment_key, segment_ptr, neighbours, keys):
    """Find the feature that each edge gives, and count the entities that have each feature.

    Parameters
    ----------
    entity_ptr, segment_key, segment_ptr, neighbours
        See `kgagg.graph.adjacency.Adjacency`.
    keys : int
        Number of step keys.

    Returns
    -------
    owner : int32[segments]
        The entity of each segment.
    back : int32[edges]
        The feature that each edge gives to the entity it starts from.
    size : int32[segments + keys]
        How many entities have each feature, by a step that is not a self-loop.
    sole : int32[segments]
        For the segment of c by a key: how many other entities have no neighbour but c, and
        themselves, by the step to c.
    """
    segments = len(segment_key)
    owner = np.empty(segments, np.int32)
    back = np.empty(len(neighbours), np.int32)
    size = np.zeros(segments + keys, np.int32)
    sole = np.zeros(segments, np.int32)
    for entity in range(len(entity_ptr) - 1):
        for segment in range(entity_ptr[entity], entity_ptr[entity + 1]):
            owner[segment] = entity
            key = segment_key[segment]
            others = 0
            last = 0
            for i in range(segment_ptr[segment], segment_ptr[segment + 1]):
                back[i] = find_segment(entity_ptr, segment_key, neighbours[i], key ^ 1)
                if neighbours[i] != entity:
                    others += 1
                    last = back[i]
            size[segment] = others
            size[segments + key] += others > 0
            sole[last] += others == 1
    return owner, back, size, sole


@jit
def unary_rules(
    entity_ptr,
    segment_key,
    segment_ptr,
    neighbours,
    owner,
    back,
    size,
    sole,
    members,
    heads,
    least,
    share,
    floor,
    found,
    levels,
):
    """Find the rules with one body atom whose head has a constant.

    Parameters
    ----------
    entity_ptr, segment_key, segment_ptr, neighbours
        See `kgagg.graph.adjacency.Adjacency`.
    owner, back, size, sole
        See `features`.
    members : int32[*]
        Entities.
    heads : int64[n, 4]
        For each head the start and stop of the entities that have it in `members`, its constant
        (negative for the reflexive token) and its feature (-1 for none).
    least, share : int, float
        The thresholds for correct predictions, and for correct / predicted.
    floor : int
        Only rules of this level of usefulness or above are written.
    found : int32[rows, 4]
        Filled with the head, the feature that is the body, predicted and correct.
    levels : int64[LEVELS]
        The rules found are counted here by usefulness, written or not.

    Returns
    -------
    int
        How many rules were written; those that `found` has no room for are not.
    """
    # long: one pass over the features of an entity
    segments = len(segment_key)
    count = np.zeros(len(size), np.int32)
    touched = np.empty(len(size), np.int32)
    rows = 0
    for head in range(len(heads)):
        constant, own = heads[head, 2], heads[head, 3]
        touches = 0
        for i in range(heads[head, 0], heads[head, 1]):
            x = members[i]
            if x == constant:
                continue
            for segment in range(entity_ptr[x], entity_ptr[x + 1]):
                start, stop = segment_ptr[segment], segment_ptr[segment + 1]
                is_open = False
                for j in range(start, stop):
                    if neighbours[j] == x:
                        continue
                    is_open |= neighbours[j] != constant
                    feature = back[j]
                    if count[feature] == 0:
                        touched[touches] = feature
                        touches += 1
                    count[feature] += 1
                if is_open:
                    feature = segments + segment_key[segment]
                    if count[feature] == 0:
                        touched[touches] = feature
                        touches += 1
                    count[feature] += 1
        for i in range(touches):
            feature = touched[i]
            correct = count[feature]
            count[feature] = 0
            if correct < least or feature == own:
                continue
            predicted = size[feature]
            if constant >= 0 and feature >= segments:
                key = feature - segments
                segment = find_segment(entity_ptr, segment_key, constant, key)
                predicted -= segment >= 0 and size[segment] > 0
                segment = find_segment(entity_ptr, segment_key, constant, key ^ 1)
                if segment >= 0:
                    predicted -= sole[segment]
            elif constant >= 0 and owner[feature] != constant:
                predicted -= has_edge(
                    entity_ptr,
                    segment_key,
                    segment_ptr,
                    neighbours,
                    owner[feature],
                    segment_key[feature],
                    constant,
                )
            if correct < share * predicted:
                continue
            level = min(correct, GROUPS - 1) * SHARES + SHARES * correct // (predicted + 1)
            levels[level] += 1
            if level >= floor and rows < len(found):
                found[rows, 0], found[rows, 1] = head, feature
                found[rows, 2], found[rows, 3] = predicted, correct
                rows += 1
    return rows


# --- cyclic bodies: which ones connect the facts of a relation ------------------------------------


@inner_jit
def _place(table, code):
    """Return the row of `code` in a hash table, or the free row where it belongs."""
    mixed = np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)
    place = np.int64(mixed >> np.uint64(24)) & (len(table) - 1)
    while table[place, 1] > 0 and table[place, 0] != code:
        place = (place + 1) & (len(table) - 1)
    return place


@jit
def connections(
    entity_ptr, segment_ptr, neighbours, edge_key, reach, pairs, length, base, work, room
):
    """Count the bodies of one length that connect the two entities of facts.

    Parameters
    ----------
    entity_ptr, segment_ptr, neighbours
        See `kgagg.graph.adjacency.Adjacency`.
    edge_key : int32[edges]
        The step key of each edge.
    reach : int64[entities]
        How many walks of two steps begin at each entity.
    pairs : int32[n, 2]
        Head and tail of facts.
    length : int
        Number of steps, two or more.
    base : int
        Number of step keys plus one.
    work : int
        No further fact is looked at after this many steps.
    room : int
        When there are this many bodies, those that connect fewest facts are forgotten.

    Returns
    -------
    codes : int64[n]
        The steps of each body, each plus one, as digits to the base `base`.
    counts : int64[n]
        How many of the facts it connects.
    looked_at : int
        How many facts were looked at.
    forgotten : bool
        Whether any body was forgotten.
    left : int
        What is left of `work`.
    """
    # long: one search, whose levels are loops within each other
    entities = len(entity_ptr) - 1
    # stamp of the pair for which the entity is near its goal, and how far away it is
    near = np.zeros((entities, 2), np.int32)
    chain = np.empty(entities, np.int64)
    following = np.empty(len(neighbours), np.int64)
    path = np.empty(length, np.int64)
    edge = np.empty(length, np.int64)
    last_edge = np.empty(length, np.int64)
    powers = np.empty(length, np.int64)
    powers[0] = 1
    for i in range(1, length):
        powers[i] = powers[i - 1] * base
    radius = 1 if length < 4 else 2
    queue = np.empty(entities, np.int32)
    # code, number of facts, stamp of the last one
    table = np.zeros((1 << 10, 3), np.int64)
    used = 0
    looked_at = 0
    forgotten = False
    for fact in range(len(pairs)):
        if work <= 0:
            break
        looked_at += 1
        start, goal = pairs[fact, 0], pairs[fact, 1]
        if start == goal:
            continue
        # the search spreads from the end with fewer ways to go
        turned = reach[start] > reach[goal]
        if turned:
            start, goal = goal, start
        stamp = fact + 1
        queued = 0
        for j in range(segment_ptr[entity_ptr[goal]], segment_ptr[entity_ptr[goal + 1]]):
            via = neighbours[j]
            if near[via, 0] != stamp:
                near[via, 0], near[via, 1] = stamp, 1
                chain[via] = -1
                queue[queued] = via
                queued += 1
            following[j] = chain[via]
            chain[via] = j
            work -= 1
        if radius > 1:
            for i in range(queued):
                via = queue[i]
                first = segment_ptr[entity_ptr[via]]
                last = segment_ptr[entity_ptr[via + 1]]
                work -= last - first
                for j in range(first, last):
                    other = neighbours[j]
                    if near[other, 0] != stamp:
                        near[other, 0], near[other, 1] = stamp, 2
        depth = 0
        path[0] = start
        edge[0] = segment_ptr[entity_ptr[start]]
        last_edge[0] = segment_ptr[entity_ptr[start + 1]]
        while depth >= 0:
            if edge[depth] == last_edge[depth]:
                depth -= 1
                continue
            reached = neighbours[edge[depth]]
            edge[depth] += 1
            work -= 1
            left = length - 1 - depth
            if reached == goal or (
                left <= radius and (near[reached, 0] != stamp or near[reached, 1] > left)
            ):
                continue
            free = True
            for i in range(depth + 1):
                free &= path[i] != reached
            if not free:
                continue
            if left > 1:
                depth += 1
                path[depth] = reached
                edge[depth] = segment_ptr[entity_ptr[reached]]
                last_edge[depth] = segment_ptr[entity_ptr[reached + 1]]
                continue
            code = np.int64(0)
            for i in range(depth + 1):
                key = edge_key[edge[i] - 1]
                if turned:
                    code += ((key ^ 1) + 1) * powers[i]
                else:
                    code += (key + 1) * powers[length - 1 - i]
            j = chain[reached]
            while j >= 0:
                # the edge is written from the goal
                key = edge_key[j]
                whole = code + ((key + 1) * powers[length - 1] if turned else (key ^ 1) + 1)
                j = following[j]
                # a look into the table costs as much as many steps
                work -= 16
                place = _place(table, whole)
                if table[place, 1] == 0:
                    table[place, 0] = whole
                    used += 1
                if table[place, 2] != stamp:
                    table[place, 1] += 1
                    table[place, 2] = stamp
                if 2 * used == len(table):
                    size, least = 2 * len(table), 0
                    if used >= room:
                        size = len(table)
                        forgotten = True
                        while used > room // 2:
                            least += 1
                            used = 0
                            for row in range(len(table)):
                                used += table[row, 1] > least
                    old, table = table, np.zeros((size, 3), np.int64)
                    for row in range(len(old)):
                        if old[row, 1] > least:
                            table[_place(table, old[row, 0])] = old[row]
    codes = np.empty(used, np.int64)
    counts = np.empty(used, np.int64)
    rows = 0
    for row in range(len(table)):
        if table[row, 1] > 0:
            codes[rows], counts[rows] = table[row, 0], table[row, 1]
            rows += 1
    return codes, counts, looked_at, forgotten, work


# --- cyclic bodies: what they predict -------------------------------------------------------------


@jit
def build_trie(bodies):
    """Put bodies into a trie (see the columns above).

    Parameters
    ----------
    bodies : int32[n, length]
        Step keys, in lexicographic order; -1 behind the end of shorter bodies.

    Returns
    -------
    int32[nodes, 6]
    """
    longest = bodies.shape[1]
    node = np.zeros((len(bodies) * longest, 6), np.int32)
    above = np.empty(longest + 1, np.int32)
    nodes = 0
    for body in range(len(bodies)):
        depth = 0
        if body > 0:
            while depth < longest and bodies[body, depth] == bodies[body - 1, depth]:
                depth += 1
        while depth < longest and bodies[body, depth] >= 0:
            node[nodes, KEY], node[nodes, DEPTH] = bodies[body, depth], depth + 1
            node[nodes, BODY] = -1
            above[depth] = nodes
            nodes += 1
            depth += 1
        node[nodes - 1, BODY] = body
        for i in range(depth):
            node[above[i], NEED] = max(node[above[i], NEED], depth - 1 - i)
    for i in range(nodes - 1, -1, -1):
        below = i + 1
        while below < nodes and node[below, DEPTH] > node[i, DEPTH]:
            below = node[below, SKIP]
        node[i, SKIP] = below
        inner = node[i, DEPTH] - 1
        node[i, FAMILY] = 1
        for j in range(inner if node[i, NEED] > 1 else 0):
            node[i, FAMILY] = node[i, FAMILY] * (inner + node[i, NEED] - j) // (j + 1)
    return node[:nodes].copy()


@bare_jit
def count_bodies(
    facts, node, starts, bound, cancelled, space, spent, visits, domain, predicted, correct
):
    """Count what bodies predict, and how much of it each step key confirms.

    Parameters
    ----------
    facts : Facts
        See `kgagg.engine.kernels.layout.Facts`.
    node : int32[nodes, 6]
        The trie of the bodies.
    starts : int32[n]
        The entities to begin at, in the order in which a sample takes them.
    bound : int
        A node with more entities than this, on the step to it and after it, is not visited again.
    cancelled : uint8[1]
        The count ends early when it is not zero.
    space : Space
    spent : int64[nodes]
        Zeros: the entities at each node so far, and before it.
    visits : int64[nodes]
        Zeros: how many entities could take the first step, as far as the node was visited.
    domain : int64[bodies, 2]
        Filled with the number of entities that can take the first step, and of those which the
        counts are about.
    predicted : int64[2, bodies]
        Zeros: pairs predicted, from every other entity and from the rest.
    correct : int32[2, bodies, keys]
        Zeros: those of them that a step of each key connects.

    Returns
    -------
    bool
        False if the arena has no room, and all is to be counted anew with a larger one.
    """
    # long: one walk along the trie, with all its working space
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    walk, level, linked, link = space
    arena, found = walk.arena, walk.found
    begin, end, family, need = level[0], level[1], level[2], level[3]
    stamp = np.int32(0)
    for x in starts:
        if cancelled[0] != 0:
            return True
        if stamp > 2**31 - 2 * len(node) - 2:
            walk.row[:] = 0
            walk.seen[:] = 0
            linked[:] = 0
            stamp = np.int32(0)
        stamp += np.int32(1)
        own = stamp
        links = 0
        for segment in range(entity_ptr[x], entity_ptr[x + 1]):
            for j in range(segment_ptr[segment], segment_ptr[segment + 1]):
                y = neighbours[j]
                if linked[y, 0] != own:
                    linked[y, 0], linked[y, 1] = own, -1
                link[links, 0], link[links, 1] = segment_key[segment], linked[y, 1]
                linked[y, 1] = links
                links += 1
        i = 0
        while i < len(node):
            depth, key, body = node[i, DEPTH], node[i, KEY], node[i, BODY]
            is_leaf = node[i, SKIP] == i + 1
            segment = find_segment(entity_ptr, segment_key, x, key) if depth == 1 else 0
            if segment < 0 or (depth > 1 and begin[depth - 1] == end[depth - 1]):
                i = node[i, SKIP]
                continue
            if depth == 1:
                visits[i] += 1
                root = i
            if spent[i] > bound:
                i = node[i, SKIP]
                continue
            stamp += np.int32(1)
            count = 0
            if depth == 1:
                for j in range(segment_ptr[segment], segment_ptr[segment + 1]):
                    if neighbours[j] != x:
                        arena[count] = found[count] = neighbours[j]
                        count += 1
                begin[1], end[1] = 0, count
            elif is_leaf:
                count = walk_end(
                    facts,
                    walk,
                    begin[depth - 1],
                    end[depth - 1],
                    depth - 2,
                    family[depth - 1],
                    need[depth - 1],
                    key,
                    x,
                    stamp,
                    0,
                )
            else:
                begin[depth] = end[depth - 1]
                end[depth] = next_frontier(
                    facts,
                    walk,
                    begin[depth - 1],
                    end[depth - 1],
                    begin[depth],
                    depth - 1,
                    node[i, FAMILY],
                    family[depth - 1],
                    node[i, NEED],
                    key,
                    x,
                    stamp,
                    0,
                )
                if end[depth] < 0:
                    return False
                stride = row_stride(depth - 1, node[i, FAMILY])
                for row in range(begin[depth], end[depth], stride):
                    found[count] = arena[row]
                    count += 1
            family[depth], need[depth] = node[i, FAMILY], node[i, NEED]
            if depth > 1:
                spent[i] += count + (end[depth - 1] - begin[depth - 1])
            if spent[i] > bound:
                visits[i] = visits[root]
            if body >= 0:
                half = visits[root] & 1
                predicted[half, body] += count
                for j in range(count):
                    y = found[j]
                    if linked[y, 0] == own:
                        at = linked[y, 1]
                        while at >= 0:
                            correct[half, body, link[at, 0]] += 1
                            at = link[at, 1]
            i += 1
    for i in range(len(node)):
        depth, body = node[i, DEPTH], node[i, BODY]
        if depth == 1:
            begin[0] = visits[i]
            begin[1] = visits[i]
        else:
            begin[depth] = begin[depth - 1]
            if spent[i] > bound:
                begin[depth] = min(begin[depth], visits[i])
        if body >= 0:
            domain[body, 0], domain[body, 1] = begin[0], begin[depth]
    return True
