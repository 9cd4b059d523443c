"""Kernels of the engine: the rule index, and its application to queries.

The entity and relation of a query make a *slot*, ``2 * relation + direction``, which is at the same
time the step key that leads from the query's entity to its answers.

Cyclic bodies stand in a trie, one root for each slot, so that rules share the walk along common
prefixes. A walk keeps sets of entities, not paths. Object identity (all entities of a path differ)
is kept exact by what each row of a frontier says of the paths to its entity:

- where only the last step is to come, the *core*: the inner entities that all paths share. A step
  to an entity is allowed unless it is in the core;
- where more steps are to come, a *representative family*: a few of the sets of inner entities of
  the paths, chosen so that whatever further entities the rest of the body takes, one of these
  paths avoids them if any path does. With p inner entities and q more to come, binomial(p + q, p)
  sets are enough (Bollobas' inequality; Monien, 1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgagg.graph.edges import find_segment, has_edge
from kgagg.jit import inner_kernels, kernels
from kgagg.rules.shapes import CONSTANT, DANGLING, GENERAL, ME_ID

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)

# instead of the constant of a body: the body has none, or must be searched
OPEN, SEARCH = -1, -2
# instead of the entity that a rule predicts: the query's own, or it takes more to tell
SELF, MORE = (1 << 32) - 2, (1 << 32) - 1
LOW = (1 << 32) - 1
# columns of the table of rules
KIND, SIDE, HEAD, END, BODY, LENGTH, LEVEL = range(7)
# columns of the table of nodes of the trie
PARENT, KEY, DEPTH, NEED, FAMILY, LAST, CHILD, ENDING, STREAM = range(9)
# columns of the table of entities: stamps of the queries that know it, look for it, have it in the
# pool, and its place there
KNOWN, TARGET, POOLED, PLACE = range(4)
# what a look-up from an entity of a frontier, and from a member of the pool, costs in neighbours
FORWARD_COST, BACKWARD_COST = 8, 2
# what `apply_queries` returns
DONE, GROW_OUTPUT, GROW_SCRATCH, STOPPED = range(4)
# cells of the state of a thread
STAMP, QUERY, USED, MARKED, MARK_STAMP, DONE_QUERIES, ROWS, RULES = range(8)
# cells of the totals of a query: pieces, fires, members of the pool, those that are no target
PIECES, FIRES, MEMBERS, RIVALS = range(4)


class Facts(NamedTuple):
    """The facts that bodies are matched with (see `kgagg.graph.adjacency.Adjacency`)."""

    entity_ptr: np.ndarray
    segment_key: np.ndarray
    segment_ptr: np.ndarray
    neighbours: np.ndarray


class Index(NamedTuple):
    """Rules by what makes them fire.

    Attributes
    ----------
    rule : int32[rules, 7]
        Kind, side of the head variable, head constant, body constant, where the body begins in
        `body_keys`, its length, level (rules of equal level are not told apart by MAX+).
    weight : float64[rules]
        ``-log(1 - confidence)``.
    body_keys : int32[*]
    forward_slot : int32[slots + 1]
        The groups of each slot.
    forward_group : int32[groups + 1, 2]
        The first step of the bodies of a group (-1 for empty bodies, ascending in a slot), and
        where its rows begin.
    forward_constant : int32[rows]
        The constant at the end of the body, or OPEN, or SEARCH; ascending in a group.
    forward_hit : int64[rows]
        The rule in the high half; in the low one the entity that it predicts, or SELF, or MORE.
    backward_slot : int32[slots + 1]
    backward_group : int32[groups + 1, 2]
        The head constant of a group (ascending in a slot), and where its rows begin.
    backward_hit : int64[rows]
        As `forward_hit`; always MORE.
    open_ptr : int64[slots + 1]
    open_entity : int32[*]
        For each step key, the entities that can take it; with strict identity, to another entity.
    steps : int64[slots, 3]
        For each step key, how many entities can take it, to how many it leads, how many edges.
    node : int32[nodes + 1, 9]
        The trie; node i < slots is the root of slot i, children stand together by ascending key.
        Parent, key of the step to the node, depth, most steps below, most sets of a row of its
        frontier, last rule below; where its children, the rules that end there
        and (for children of roots) the stream of all rules below begin.
    ending : int32[*]
        The rules whose body ends at a node, ascending.
    stream : int32[*, 2]
        All rules below a child of a root, ascending, and the node that each ends at.
    """

    rule: np.ndarray
    weight: np.ndarray
    body_keys: np.ndarray
    forward_slot: np.ndarray
    forward_group: np.ndarray
    forward_constant: np.ndarray
    forward_hit: np.ndarray
    backward_slot: np.ndarray
    backward_group: np.ndarray
    backward_hit: np.ndarray
    open_ptr: np.ndarray
    open_entity: np.ndarray
    steps: np.ndarray
    node: np.ndarray
    ending: np.ndarray
    stream: np.ndarray


class Options(NamedTuple):
    """What counts as a prediction, and how far to go (see `kgagg.engine.Semantics`)."""

    strict: bool
    branching: int
    discrimination: int
    top_x: int
    best: int
    complete: bool


class Scratch(NamedTuple):
    """Working space of one thread; stamped arrays need no clearing between uses."""

    stop: np.ndarray  # bool[1]: shared by all threads, which end at the next query when it is set
    state: np.ndarray  # int64[8]: see the cells above
    mark: np.ndarray  # int32[entities, 4]: see the columns above
    seen: np.ndarray  # int32[entities]: stamp of the rule that found it
    row: np.ndarray  # int32[entities, 2]: stamp of the frontier it is in, and its row there
    memo: np.ndarray  # int64[nodes, 3]: stamp of the query, start and stop of a frontier
    arena: np.ndarray  # int32[*]: frontiers
    found: np.ndarray  # int32[entities]: what a rule predicts
    hits: np.ndarray  # int64[*]: rules that are no cyclic ones, as `Index.forward_hit`
    heap: np.ndarray  # int64[slots]: packed next rule and number of a stream of cyclic rules
    streams: np.ndarray  # int32[slots, 3]: the rest of each stream, and its child of the root
    pool: np.ndarray  # int32[entities]: candidates as they came
    fires: np.ndarray  # int32[*]: places in the pool, rule by rule
    pieces: np.ndarray  # int64[*]: packed rule and number of a piece of `fires`
    piece_start: np.ndarray  # int64[*]
    bucket: np.ndarray  # int64[slots, 4]: stamp of the query, first link, neighbours, links
    links: np.ndarray  # int32[*, 3]: next link, place in the pool, segment
    list_ptr: np.ndarray  # int64[entities + 1]: rules of each candidate of the pool
    lists: np.ndarray  # int32[*]
    order: np.ndarray  # int32[2, entities]
    path: np.ndarray  # int64[6, 64]: positions of a depth-first search
    totals: np.ndarray  # int64[4]: see the cells above
    digits: np.ndarray  # int64[256]: counts of a radix sort
    sorted: np.ndarray  # int64[*]: the other half of a radix sort
    climb: np.ndarray  # int32[64]: nodes on the way to a frontier
    stack: np.ndarray  # int32[nodes]: nodes still to visit


class Output(NamedTuple):
    """What is found, query after query (see `kgagg.engine.Firings`)."""

    candidate: np.ndarray  # int32[rows]
    rule_count: np.ndarray  # int32[rows]
    strength: np.ndarray  # float64[rows]
    level: np.ndarray  # int32[rows]
    kept: np.ndarray  # int32[rows]
    rules: np.ndarray  # int32[*]


# --- building the index ---------------------------------------------------------------------------


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


@jit
def build_trie(rules, relation, body, body_ptr, body_keys, slots, table, node, end, first):
    """Put the bodies of the cyclic `rules` into the trie, walked from X and walked from Y.

    Parameters
    ----------
    rules : int32[n]
        The cyclic rules, ascending.
    relation, body, body_ptr, body_keys
        Columns of the rule set.
    slots : int
        Twice the number of relations.
    table : int32[*]
        A hash table with room for the nodes but the roots (see `kgagg.vocabulary.free_table`).
    node : int32[3, *]
        Takes parent, key and depth of each node.
    end : int32[2, n]
        Takes the node at which each rule ends, for tail and for head queries.
    first : int32[2, n]
        Takes the child of the root above that node.

    Returns
    -------
    int
        How many nodes there are.
    """
    for root in range(slots):
        node[PARENT, root], node[KEY, root], node[DEPTH, root] = -1, -1, 0
    nodes = slots
    for i in range(len(rules)):
        rule = rules[i]
        start, stop = body_ptr[body[rule]], body_ptr[body[rule] + 1]
        for direction in range(2):
            at = 2 * relation[rule] + direction
            for step in range(stop - start):
                # a head query walks the body from its end, against the steps
                move = body_keys[start + step] if direction == 0 else body_keys[stop - 1 - step] ^ 1
                code = np.uint64(at) * np.uint64(slots) + np.uint64(move)
                code *= np.uint64(0x9E3779B97F4A7C15)
                place = np.int64(code >> np.uint64(20)) & (len(table) - 1)
                while table[place] >= 0 and (
                    node[PARENT, table[place]] != at or node[KEY, table[place]] != move
                ):
                    place = (place + 1) & (len(table) - 1)
                if table[place] < 0:
                    table[place] = nodes
                    node[PARENT, nodes], node[KEY, nodes] = at, move
                    node[DEPTH, nodes] = step + 1
                    nodes += 1
                at = table[place]
                if step == 0:
                    first[direction, i] = at
            end[direction, i] = at
    return nodes


# --- walking along bodies -------------------------------------------------------------------------


@inner_jit
def _needed(arena, row, count, inner, more, new, path):
    """Tell whether the set `new` adds to the family of `count` sets that begins at `row`.

    It does if some set of at most `more` entities meets all sets of the family but not `new`:
    found by branching on the entities of a set that is not met yet.
    """
    depth = 0
    path[1, 0] = -1
    while depth >= 0:
        if path[1, depth] < 0:
            # the first set that the entities chosen so far do not meet
            unmet = -1
            for i in range(count):
                met = False
                for j in range(inner):
                    for chosen in range(depth):
                        met |= arena[row + i * inner + j] == path[2, chosen]
                if not met:
                    unmet = i
                    break
            if unmet < 0:
                return True
            if depth == more:
                depth -= 1
                continue
            path[0, depth], path[1, depth] = unmet, 0
        advanced = False
        while path[1, depth] < inner:
            entity = arena[row + path[0, depth] * inner + path[1, depth]]
            path[1, depth] += 1
            free = True
            for j in range(inner):
                free &= arena[new + j] != entity
            if free:
                path[2, depth] = entity
                depth += 1
                path[1, depth] = -1
                advanced = True
                break
        if not advanced:
            depth -= 1
    return False


@inner_jit
def _disjoint(arena, row, count, inner):
    """Tell whether no two sets of a family share an entity."""
    for i in range(count * inner):
        for j in range((i // inner + 1) * inner, count * inner):
            if arena[row + i] == arena[row + j]:
                return False
    return True


@inner_jit
def _intersect(arena, core, count, other, inner):
    """Keep those of `count` entities at `core` that are among `inner` at `other`: how many."""
    kept = 0
    for i in range(count):
        for j in range(inner):
            if arena[core + i] == arena[other + j]:
                arena[core + kept] = arena[core + i]
                kept += 1
                break
    return kept


@inner_jit
def _allows(arena, row, inner, more, entity):
    """Tell whether a path to the entity of `row` does without `entity`."""
    if inner == 0:
        return True
    if more > 1:
        return _avoids(arena, row + 2, arena[row + 1], inner, entity)
    for i in range(arena[row + 1]):
        if arena[row + 2 + i] == entity:
            return False
    return True


@inner_jit
def _avoids(arena, row, count, inner, entity):
    """Tell whether one of the sets of a family does without `entity`."""
    for i in range(abs(count)):
        free = True
        for j in range(inner):
            free &= arena[row + i * inner + j] != entity
        if free:
            return True
    return False


@inner_jit
def row_stride(inner, family):
    """Length of a row of a frontier: the entity; from depth two also its sets, the number first.

    A core is a single set, and its number that of its entities.
    """
    return 1 if inner == 0 else 2 + family * inner


@inner_jit
def _first_frontier(facts, segment, arena, used, entity, branching):
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
    arena,
    row_of,
    path,
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
    """Walk one step `key` from the frontier in ``arena[start:stop]``.

    Returns where the new frontier, which begins at `used`, ends, or -1 if there is no room.
    """
    entity_ptr, segment_key, segment_ptr, neighbours = facts
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
        for i in range(first, last):
            reached = neighbours[i]
            if reached == entity or reached == via:
                continue
            # room for one more row, and for one more set to try
            if used > room:
                return -1
            new = row_of[reached, 0] != stamp
            if new:
                if inner > 1 and not _avoids(arena, row + 2, arena[row + 1], inner - 1, reached):
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
                        count = _intersect(arena, at + 2, count, used, inner)
                        if count == 0:
                            break
                elif _needed(arena, at + 2, count, inner, more, used, path):
                    for k in range(inner):
                        arena[at + 2 + count * inner + k] = arena[used + k]
                    count += 1
                    if count == family or (
                        count == more + 1 and _disjoint(arena, at + 2, count, inner)
                    ):
                        # no further set can be needed, which a negative number says
                        count = -count
                        break
            arena[at + 1] = count
    return used


@inner_jit
def _frontier(
    facts,
    node,
    state,
    memo,
    arena,
    row_of,
    path,
    climb,
    wanted,
    entity,
    branching,
):
    """Make sure that the frontier of the node `wanted` is there for this query; False if full."""
    entity_ptr, segment_key, _segment_ptr, _neighbours = facts
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
            stop = _first_frontier(facts, segment, arena, used, entity, branching)
        else:
            state[STAMP] += 1
            state[MARKED], state[MARK_STAMP] = below, state[STAMP]
            stop = next_frontier(
                facts,
                arena,
                row_of,
                path,
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
def walk_end(
    facts,
    arena,
    seen,
    found,
    start,
    stop,
    inner,
    family,
    more,
    key,
    entity,
    stamp,
    bound,
):
    """Collect in `found` what the last step `key` reaches from the frontier ``arena[start:stop]``.

    Returns how many there are, but 0 if there are `bound` or more and `bound` is positive.
    """
    entity_ptr, segment_key, segment_ptr, neighbours = facts
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
        for i in range(segment_ptr[segment], segment_ptr[segment + 1]):
            reached = neighbours[i]
            if seen[reached] == stamp or reached == entity or reached == via or reached == only:
                continue
            if search and not _allows(arena, row, inner, more, reached):
                continue
            seen[reached] = stamp
            found[count] = reached
            count += 1
        if bound > 0 and count >= bound:
            return 0
    return count


@inner_jit
def _meet(facts, arena, row_of, pool, links, found, link, inner, more, entity, stamp):
    """Collect in `found` the pool's members that the last step reaches from a marked frontier.

    Each member with an edge of that step (chained from `link` on) looks back along it for an
    entity of the frontier, and stops at the first.
    """
    segment_ptr, neighbours = facts.segment_ptr, facts.neighbours
    count = 0
    while link >= 0:
        member = pool[links[link, 1]]
        segment = links[link, 2]
        link = links[link, 0]
        if member == entity:
            continue
        for i in range(segment_ptr[segment], segment_ptr[segment + 1]):
            via = neighbours[i]
            if row_of[via, 0] != stamp or via == member:
                continue
            if not _allows(arena, np.int64(row_of[via, 1]), inner, more, member):
                continue
            found[count] = member
            count += 1
            break
    return count


@inner_jit
def _walk_path(
    facts,
    keys,
    backward,
    start,
    forbidden,
    last_too,
    goal,
    seen,
    found,
    path,
    stamp,
):
    """Collect in `found` the ends of the paths from `start` along `keys`, all entities different.

    The keys are taken in order, or `backward` (from the last, each turned round). Inner entities
    differ from `forbidden`, and so does the end if `last_too`. With a `goal` that is not negative
    only paths that end there count. One end is enough with a goal other than -1.
    """
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    length = len(keys)
    count = 0
    depth = 0
    path[0, 0] = start
    path[1, 0] = -1
    while depth >= 0:
        if path[1, depth] < 0:
            key = keys[length - 1 - depth] ^ 1 if backward else keys[depth]
            segment = find_segment(entity_ptr, segment_key, path[0, depth], key)
            if segment < 0:
                depth -= 1
                continue
            path[1, depth] = segment_ptr[segment]
            path[2, depth] = segment_ptr[segment + 1]
        if path[1, depth] == path[2, depth]:
            depth -= 1
            continue
        reached = neighbours[path[1, depth]]
        path[1, depth] += 1
        last = depth == length - 1
        free = reached != forbidden or (last and not last_too)
        for i in range(depth + 1):
            free &= path[0, i] != reached
        if not free or (last and goal >= 0 and reached != goal):
            continue
        if not last:
            depth += 1
            path[0, depth] = reached
            path[1, depth] = -1
        elif seen[reached] != stamp:
            seen[reached] = stamp
            found[count] = reached
            count += 1
            if goal != -1:
                return 1
    return count


@inner_jit
def _join(
    facts,
    atoms,
    entity,
    direction,
    goal,
    seen,
    found,
    path,
    stamp,
):
    """Collect in `found` what a general body predicts for `entity`.

    Parameters
    ----------
    atoms : int32[3 * n]
        Relation, subject variable and object variable of each atom; X is 0, Y is 1.
    entity, direction
        The entity of X (direction 0) or of Y (direction 1).
    goal : int
        If not negative, ask only whether this entity is predicted.

    Returns
    -------
    int
        How many entities are predicted.
    """
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    total = len(atoms) // 3
    # the entities of the variables; for each depth the atom and the variable that it binds
    values, chosen, bound = path[3], path[4], path[5]
    values[:4] = -1
    values[direction] = entity
    if goal >= 0:
        values[1 - direction] = goal
    used = 0
    count = 0
    depth = 0
    path[1, 0] = -1
    while depth >= 0:
        if depth == total:
            answer = values[1 - direction]
            if seen[answer] != stamp:
                seen[answer] = stamp
                found[count] = answer
                count += 1
            if goal >= 0:
                return 1
            depth -= 1
        if path[1, depth] < 0:
            # atoms with both ends bound come first, then any with one bound end
            best, best_ends = 0, 0
            for atom in range(total):
                if not (used >> atom) & 1:
                    ends = (values[atoms[3 * atom + 1]] >= 0) + (values[atoms[3 * atom + 2]] >= 0)
                    if ends > best_ends:
                        best, best_ends = atom, ends
            key, subject, object_ = 2 * atoms[3 * best], atoms[3 * best + 1], atoms[3 * best + 2]
            used |= 1 << best
            chosen[depth], bound[depth] = best, -1
            path[1, depth] = path[2, depth] = 0
            if best_ends == 2:
                path[2, depth] = has_edge(
                    entity_ptr,
                    segment_key,
                    segment_ptr,
                    neighbours,
                    values[subject],
                    key,
                    values[object_],
                )
            else:
                if values[subject] < 0:
                    key, subject, object_ = key + 1, object_, subject
                bound[depth] = object_
                segment = find_segment(entity_ptr, segment_key, values[subject], key)
                if segment >= 0:
                    path[1, depth] = segment_ptr[segment]
                    path[2, depth] = segment_ptr[segment + 1]
        variable = bound[depth]
        if variable >= 0:
            values[variable] = -1
        if path[1, depth] == path[2, depth]:
            used &= ~(1 << chosen[depth])
            depth -= 1
            continue
        path[1, depth] += 1
        if variable >= 0:
            reached = neighbours[path[1, depth] - 1]
            if (
                values[0] == reached
                or values[1] == reached
                or values[2] == reached
                or values[3] == reached
            ):
                continue
            values[variable] = reached
        depth += 1
        if depth < total:
            path[1, depth] = -1
    return count


# --- acyclic and general rules --------------------------------------------------------------------


@inner_jit
def _gallop(values, low, high, wanted):
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


@inner_jit
def _gather_hits(
    facts,
    forward_slot,
    forward_group,
    forward_constant,
    forward_hit,
    backward_slot,
    backward_group,
    backward_hit,
    hits,
    slot,
    entity,
    strict,
):
    """List in `hits` the acyclic and general rules that may fire; -1 if there is no room.

    Rules whose body starts at the query's entity are found from its own edges, those whose head
    constant is the query's entity by that constant: rules that do not fire cost nothing.
    """
    segment_key, segment_ptr, neighbours = facts.segment_key, facts.segment_ptr, facts.neighbours
    count = 0
    group, groups_end = forward_slot[slot], forward_slot[slot + 1]
    if group < groups_end and forward_group[group, 0] < 0:
        first, last = forward_group[group, 1], forward_group[group + 1, 1]
        if last - first > len(hits):
            return -1
        for row in range(first, last):
            hits[count] = forward_hit[row]
            count += 1
        group += 1
    segment, segments_end = facts.entity_ptr[entity], facts.entity_ptr[entity + 1]
    while group < groups_end and segment < segments_end:
        if forward_group[group, 0] < segment_key[segment]:
            group += 1
            continue
        if forward_group[group, 0] > segment_key[segment]:
            segment += 1
            continue
        at, rows_end = np.int64(forward_group[group, 1]), np.int64(forward_group[group + 1, 1])
        edge, edges_end = segment_ptr[segment], segment_ptr[segment + 1]
        if count + rows_end - at > len(hits):
            return -1
        # the dangling entity must be neither the query's nor the one predicted
        narrow = strict and edges_end - edge <= 2
        while at < rows_end and forward_constant[at] < 0:
            hit = forward_hit[at]
            predicted = hit & LOW
            holds = predicted != entity
            if narrow and predicted != MORE:
                holds = holds and (
                    (neighbours[edge] != entity and neighbours[edge] != predicted)
                    or (
                        neighbours[edges_end - 1] != entity
                        and neighbours[edges_end - 1] != predicted
                    )
                )
            if holds:
                hits[count] = hit
                count += 1
            at += 1
        while at < rows_end and edge < edges_end:
            constant, neighbour = forward_constant[at], neighbours[edge]
            if constant < neighbour:
                at = _gallop(forward_constant, at, rows_end, neighbour)
            elif constant > neighbour:
                edge = _gallop(neighbours, edge, edges_end, constant)
            else:
                hit = forward_hit[at]
                if hit & LOW != entity and not (strict and constant == entity):
                    hits[count] = hit
                    count += 1
                at += 1
        group += 1
        segment += 1
    for i in range(count):
        if hits[i] & LOW == SELF:
            hits[i] = (hits[i] & ~np.int64(LOW)) | entity
    low, high = backward_slot[slot], backward_slot[slot + 1]
    while low < high:
        middle = (low + high) >> 1
        if backward_group[middle, 0] < entity:
            low = middle + 1
        else:
            high = middle
    if low < backward_slot[slot + 1] and backward_group[low, 0] == entity:
        first, last = backward_group[low, 1], backward_group[low + 1, 1]
        if count + last - first > len(hits):
            return -1
        for row in range(first, last):
            hits[count] = backward_hit[row]
            count += 1
    return count


@inner_jit
def _predict_hit(
    facts,
    open_ptr,
    open_entity,
    rule,
    body_keys,
    seen,
    found,
    path,
    state,
    slot,
    entity,
    goal,
    strict,
    bound,
):
    """Collect in `found` what a hit predicts that takes more to tell; return how many.

    `rule` is its row of the table of rules. With a `goal` that is not negative, a general rule is
    only asked for this entity.
    """
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    kind, constant, end = rule[KIND], rule[HEAD], rule[END]
    length = rule[LENGTH]
    keys = body_keys[rule[BODY] : rule[BODY] + length]
    state[STAMP] += 1
    stamp = np.int32(state[STAMP])
    if kind == GENERAL:
        return _join(
            facts,
            keys,
            entity,
            slot & 1,
            goal,
            seen,
            found,
            path,
            stamp,
        )
    if constant == ME_ID or rule[SIDE] == (slot & 1):
        # a constant body is searched for its end, a dangling one for any end
        if entity == constant and (strict or kind == CONSTANT):
            return 0
        count = _walk_path(
            facts,
            keys,
            np.bool_(False),
            entity,
            constant,
            kind == DANGLING,
            np.int64(end) if kind == CONSTANT else np.int64(-2),
            seen,
            found,
            path,
            stamp,
        )
        found[0] = entity if constant == ME_ID else constant
        return count
    count = 0
    if kind == CONSTANT:
        if length > 1:
            count = _walk_path(
                facts,
                keys,
                np.bool_(True),
                end,
                entity,
                np.bool_(True),
                np.int64(-1),
                seen,
                found,
                path,
                stamp,
            )
        else:
            segment = find_segment(entity_ptr, segment_key, end, keys[0] ^ 1)
            if segment >= 0:
                for i in range(segment_ptr[segment], segment_ptr[segment + 1]):
                    reached = neighbours[i]
                    if reached != entity and not (strict and reached == end):
                        found[count] = reached
                        count += 1
    else:
        first, last = open_ptr[keys[0]], open_ptr[keys[0] + 1]
        if length == 1 and bound > 0 and last - first > bound:
            return 0
        for i in range(first, last):
            reached = open_entity[i]
            if reached == entity:
                continue
            holds = 1
            if length > 1:
                state[STAMP] += 1
                # AnyBURL lets the dangling end be the head constant on this side
                holds = _walk_path(
                    facts,
                    keys,
                    np.bool_(False),
                    reached,
                    entity,
                    not strict,
                    np.int64(-2),
                    seen,
                    found[count:],
                    path,
                    np.int32(state[STAMP]),
                )
            if holds:
                found[count] = reached
                count += 1
    if bound > 0 and count >= bound:
        return 0
    return count


# --- queries --------------------------------------------------------------------------------------


@inner_jit
def _sift(heap, size, at):
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
def _take(state, mark, pool, fires, pieces, piece_start, found, count, rule, totals, closed):
    """Enter the first `count` of `found` as predictions of `rule`; False if there is no room.

    Only candidates that are no target count for topX, so each target meets at least topX rivals.
    """
    query = state[QUERY]
    fire, members = totals[FIRES], totals[MEMBERS]
    if fire + count > len(fires) or totals[PIECES] == len(pieces):
        return False
    for i in range(count):
        entity = found[i]
        if mark[entity, POOLED] != query:
            if closed or mark[entity, KNOWN] == query:
                continue
            mark[entity, POOLED] = query
            mark[entity, PLACE] = members
            pool[members] = entity
            members += 1
            totals[RIVALS] += mark[entity, TARGET] != query
        fires[fire] = mark[entity, PLACE]
        fire += 1
    if fire > totals[FIRES]:
        piece = totals[PIECES]
        pieces[piece] = (np.int64(rule) << 32) | piece
        piece_start[piece] = totals[FIRES]
        totals[PIECES] = piece + 1
    totals[FIRES], totals[MEMBERS] = fire, members
    return True


@inner_jit
def _open_streams(facts, node, stream, heap, streams, slot, entity):
    """Queue the streams of cyclic rules whose first step `entity` can take; return how many."""
    segment_key = facts.segment_key
    count = 0
    child, stop = node[slot, CHILD], node[slot + 1, CHILD]
    segment, segments_end = facts.entity_ptr[entity], facts.entity_ptr[entity + 1]
    while child < stop and segment < segments_end:
        if node[child, KEY] < segment_key[segment]:
            child += 1
        elif node[child, KEY] > segment_key[segment]:
            segment += 1
        else:
            first = node[child, STREAM]
            streams[count, 0] = first
            streams[count, 1] = node[child + 1, STREAM]
            streams[count, 2] = child
            heap[count] = (np.int64(stream[first, 0]) << 32) | count
            count += 1
            child += 1
            segment += 1
    for i in range(count // 2 - 1, -1, -1):
        _sift(heap, count, i)
    return count


@inner_jit
def _bucket_pool(facts, pool, members, bucket, links, query):
    """Chain the segments of the pool's members by step key; False if there is no room."""
    segment_ptr = facts.segment_ptr
    link = 0
    for place in range(members):
        first, last = facts.entity_ptr[pool[place]], facts.entity_ptr[pool[place] + 1]
        if link + last - first > len(links):
            return False
        for segment in range(first, last):
            key = facts.segment_key[segment]
            if bucket[key, 0] != query:
                bucket[key, 0], bucket[key, 1], bucket[key, 2], bucket[key, 3] = query, -1, 0, 0
            links[link, 0], links[link, 1], links[link, 2] = bucket[key, 1], place, segment
            bucket[key, 1] = link
            bucket[key, 2] += segment_ptr[segment + 1] - segment_ptr[segment]
            bucket[key, 3] += 1
            link += 1
    return True


@inner_jit
def _meet_hit(facts, links, pool, found, link, end, entity, strict):
    """Collect in `found` the pool's members with an edge to `end`, or to any if that is OPEN.

    The members with an edge of the body's step are chained from `link` on.
    """
    segment_ptr, neighbours = facts.segment_ptr, facts.neighbours
    count = 0
    while link >= 0:
        member = pool[links[link, 1]]
        first, last = segment_ptr[links[link, 2]], segment_ptr[links[link, 2] + 1]
        link = links[link, 0]
        if member == entity or (strict and member == end):
            continue
        if end == OPEN:
            holds = not strict or last - first > 1 or neighbours[first] != member
        else:
            at = _gallop(neighbours, first, last, end)
            holds = at < last and neighbours[at] == end
        if holds:
            found[count] = member
            count += 1
    return count


@inner_jit
def _finish_hits(facts, index, options, scratch, hit_count, slot, entity, totals):
    """Apply the hits that are left to the pool alone if it is closed; False if out of room."""
    rule, state, pool, bucket = index.rule, scratch.state, scratch.pool, scratch.bucket
    mark, found = scratch.mark, scratch.found
    strict, bound, closed = options.strict, options.discrimination, np.bool_(options.top_x > 0)
    for i in range(hit_count):
        one, predicted = scratch.hits[i] >> 32, scratch.hits[i] & LOW
        if predicted != MORE:
            if closed and mark[predicted, POOLED] != state[QUERY]:
                continue
            found[0] = predicted
            count = 1
        else:
            kind, end = rule[one, KIND], rule[one, END]
            key = index.body_keys[rule[one, BODY]]
            spread = np.int64(-1)
            if closed and kind != GENERAL and rule[one, LENGTH] == 1:
                # about how many entities the rule predicts
                if kind == DANGLING:
                    spread = index.open_ptr[key + 1] - index.open_ptr[key]
                else:
                    segment = find_segment(facts.entity_ptr, facts.segment_key, end, key ^ 1)
                    if segment >= 0:
                        spread = facts.segment_ptr[segment + 1] - facts.segment_ptr[segment]
            links = bucket[key, 3] if closed and bucket[key, 0] == state[QUERY] else 0
            count = 0
            if spread > FORWARD_COST * links and (bound == 0 or spread < bound):
                if links > 0:
                    count = _meet_hit(
                        facts, scratch.links, pool, found, bucket[key, 1], end, entity, strict
                    )
            else:
                each = closed and kind == GENERAL
                for place in range(totals[MEMBERS] if each else 1):
                    goal = np.int64(-1)
                    if each:
                        goal = np.int64(pool[place])
                        if goal == entity:
                            continue
                    count += _predict_hit(
                        facts,
                        index.open_ptr,
                        index.open_entity,
                        rule[one],
                        index.body_keys,
                        scratch.seen,
                        found[count:],
                        scratch.path,
                        state,
                        slot,
                        entity,
                        goal,
                        strict,
                        bound,
                    )
        if count > 0 and not _take(
            state,
            mark,
            pool,
            scratch.fires,
            scratch.pieces,
            scratch.piece_start,
            found,
            count,
            one,
            totals,
            closed,
        ):
            return False
    return True


@inner_jit
def _finish_trie(facts, index, options, scratch, size, cut, entity, totals):
    """Apply the cyclic rules after rule `cut`, to the pool alone if it is closed; False if full.

    `scratch.stack` holds the `size` children of the root whose step the entity can take.
    """
    node, ending, state, memo, arena = (
        index.node,
        index.ending,
        scratch.state,
        scratch.memo,
        scratch.arena,
    )
    row_of, found, stack, bucket = scratch.row, scratch.found, scratch.stack, scratch.bucket
    bound, closed = options.discrimination, np.bool_(options.top_x > 0)
    while size:
        size -= 1
        at = stack[size]
        if node[at, LAST] <= cut or node[at, CHILD] == node[at + 1, CHILD]:
            continue
        if not _frontier(
            facts,
            node,
            state,
            memo,
            arena,
            row_of,
            scratch.path,
            scratch.climb,
            at,
            entity,
            options.branching,
        ):
            return False
        start, stop = memo[at, 1], memo[at, 2]
        inner, family = node[at, DEPTH] - 1, node[at, FAMILY]
        rows = (stop - start) // row_stride(inner, family)
        if rows == 0:
            continue
        for below in range(node[at, CHILD], node[at + 1, CHILD]):
            if node[below, LAST] <= cut:
                continue
            if node[below, CHILD] < node[below + 1, CHILD]:
                stack[size] = below
                size += 1
            key = node[below, KEY]
            if (
                node[below, ENDING] == node[below + 1, ENDING]
                or ending[node[below + 1, ENDING] - 1] <= cut
                or (closed and bucket[key ^ 1, 0] != state[QUERY])
            ):
                continue
            takes, reach, edges = index.steps[key]
            links = bucket[key ^ 1, 3]
            # Looking back, a member finds the sooner an entity of the frontier the more there are.
            forward_cost = rows * FORWARD_COST + rows * edges // max(takes, 1)
            backward_cost = links * BACKWARD_COST + min(bucket[key ^ 1, 2], links * takes // rows)
            if not closed or (bound > 0 and reach >= bound) or forward_cost < backward_cost:
                state[STAMP] += 1
                count = walk_end(
                    facts,
                    arena,
                    scratch.seen,
                    found,
                    start,
                    stop,
                    inner,
                    family,
                    node[at, NEED],
                    key,
                    entity,
                    np.int32(state[STAMP]),
                    bound,
                )
            else:
                if state[MARKED] != at:
                    state[STAMP] += 1
                    state[MARKED], state[MARK_STAMP] = at, state[STAMP]
                    for row in range(start, stop, row_stride(inner, family)):
                        row_of[arena[row], 0] = state[STAMP]
                        row_of[arena[row], 1] = row
                count = _meet(
                    facts,
                    arena,
                    row_of,
                    scratch.pool,
                    scratch.links,
                    found,
                    bucket[key ^ 1, 1],
                    inner,
                    node[at, NEED],
                    entity,
                    np.int32(state[MARK_STAMP]),
                )
            if count > 0 and not _take_ending(index, scratch, below, cut, count, totals, closed):
                return False
    return True


@inner_jit
def _take_ending(index, scratch, at, cut, count, totals, closed):
    """Enter `count` predictions for each rule after `cut` that ends at the node `at`."""
    for i in range(index.node[at, ENDING], index.node[at + 1, ENDING]):
        if index.ending[i] > cut and not _take(
            scratch.state,
            scratch.mark,
            scratch.pool,
            scratch.fires,
            scratch.pieces,
            scratch.piece_start,
            scratch.found,
            count,
            np.int64(index.ending[i]),
            totals,
            closed,
        ):
            return False
    return True


@inner_jit
def _apply_query(facts, known, index, options, scratch, slot, entity, targets, totals):
    """Find the candidates of one query and the rules that predict them; False if out of room."""
    rule, node, stream = index.rule, index.node, index.stream
    state, mark, seen, found = scratch.state, scratch.mark, scratch.seen, scratch.found
    arena, memo, row_of, path = scratch.arena, scratch.memo, scratch.row, scratch.path
    pool, heap, hits, streams = scratch.pool, scratch.heap, scratch.hits, scratch.streams
    bound = options.discrimination
    # literal arguments would make numba compile a function once more
    zero, closed = np.int64(0), np.bool_(False)
    state[STAMP] += 1
    query = state[STAMP]
    state[QUERY], state[USED], state[MARKED] = query, 0, -1
    totals[:] = 0
    segment = find_segment(known.entity_ptr, known.segment_key, entity, slot)
    if segment >= 0:
        for i in range(known.segment_ptr[segment], known.segment_ptr[segment + 1]):
            mark[known.neighbours[i], KNOWN] = query
    for answer in targets:
        mark[answer, TARGET] = query
        mark[answer, KNOWN] = 0
    hit_count = _gather_hits(
        facts,
        index.forward_slot,
        index.forward_group,
        index.forward_constant,
        index.forward_hit,
        index.backward_slot,
        index.backward_group,
        index.backward_hit,
        hits,
        slot,
        entity,
        options.strict,
    )
    if hit_count < 0:
        return False
    size = _open_streams(facts, node, stream, heap, streams, slot, entity)
    stream_count = size
    if options.top_x > 0:
        for i in range(hit_count // 2 - 1, -1, -1):
            _sift(hits, hit_count, i)

    # rule after rule, until topX is reached
    none = np.int64(1) << 40
    one = np.int64(-1)
    while totals[RIVALS] < options.top_x:
        next_hit = hits[0] >> 32 if hit_count > 0 else none
        next_cyclic = heap[0] >> 32 if size > 0 else none
        one = min(next_hit, next_cyclic)
        if one == none:
            return True
        if next_hit < next_cyclic:
            predicted = hits[0] & LOW
            hit_count -= 1
            hits[0] = hits[hit_count]
            if hit_count > 0:
                _sift(hits, hit_count, zero)
            found[0] = predicted
            count = 1
            if predicted == MORE:
                count = _predict_hit(
                    facts,
                    index.open_ptr,
                    index.open_entity,
                    rule[one],
                    index.body_keys,
                    seen,
                    found,
                    path,
                    state,
                    slot,
                    entity,
                    np.int64(-1),
                    options.strict,
                    bound,
                )
        else:
            which = heap[0] & LOW
            at = streams[which, 0] + 1
            streams[which, 0] = at
            end = stream[at - 1, 1]
            if at < streams[which, 1]:
                heap[0] = (np.int64(stream[at, 0]) << 32) | which
            else:
                size -= 1
                heap[0] = heap[size]
            if size > 0:
                _sift(heap, size, zero)
            above = node[end, PARENT]
            if node[end, DEPTH] == 1:
                segment = find_segment(facts.entity_ptr, facts.segment_key, entity, node[end, KEY])
                count = _first_frontier(facts, segment, found, zero, entity, zero)
            else:
                if not _frontier(
                    facts,
                    node,
                    state,
                    memo,
                    arena,
                    row_of,
                    path,
                    scratch.climb,
                    above,
                    entity,
                    options.branching,
                ):
                    return False
                state[STAMP] += 1
                count = walk_end(
                    facts,
                    arena,
                    seen,
                    found,
                    memo[above, 1],
                    memo[above, 2],
                    node[above, DEPTH] - 1,
                    node[above, FAMILY],
                    node[above, NEED],
                    node[end, KEY],
                    entity,
                    np.int32(state[STAMP]),
                    bound,
                )
        if count > 0 and not _take(
            state,
            mark,
            pool,
            scratch.fires,
            scratch.pieces,
            scratch.piece_start,
            found,
            count,
            one,
            totals,
            closed,
        ):
            return False
    if options.top_x > 0 and not options.complete:
        return True

    # What is left comes in any order, and is sorted when the query is written. If the pool is
    # closed, it concerns its members alone.
    closed = np.bool_(options.top_x > 0)
    if closed and not _bucket_pool(
        facts, pool, totals[MEMBERS], scratch.bucket, scratch.links, query
    ):
        return False
    if not _finish_hits(facts, index, options, scratch, hit_count, slot, entity, totals):
        return False
    for i in range(stream_count):
        top = streams[i, 2]
        scratch.stack[i] = top
        if node[top, ENDING] < node[top + 1, ENDING]:
            segment = find_segment(facts.entity_ptr, facts.segment_key, entity, node[top, KEY])
            count = _first_frontier(facts, segment, found, zero, entity, zero)
            if not _take_ending(index, scratch, top, one, count, totals, closed):
                return False
    return _finish_trie(facts, index, options, scratch, stream_count, one, entity, totals)


@inner_jit
def _compare(rule, lists, list_ptr, one, other):
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
def _comes_first(rule, lists, list_ptr, pool, one, other):
    """Tell whether `one` comes before `other` by MAX+, or in a tie by its number."""
    difference = _compare(rule, lists, list_ptr, one, other)
    return difference < 0 or (difference == 0 and pool[one] < pool[other])


@inner_jit
def _sort_run(rule, lists, list_ptr, pool, order, start, stop):
    """Sort ``order[0, start:stop]`` by MAX+, ties by entity, merging ever longer runs."""
    # the predictions of a single rule often come sorted
    at = start + 1
    while at < stop and _comes_first(rule, lists, list_ptr, pool, order[0, at - 1], order[0, at]):
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
                    left = _comes_first(
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
def _sort_packed(values, buffer, digits, count, most):
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
def _write(rule, weight, scratch, best, out):
    """Write what the pool holds; DONE, or what must grow."""
    state, pool, fires, pieces = scratch.state, scratch.pool, scratch.fires, scratch.pieces
    list_ptr, lists, order = scratch.list_ptr, scratch.lists, scratch.order
    piece_start, totals = scratch.piece_start, scratch.totals
    piece_count, fire_count, members = totals[PIECES], totals[FIRES], totals[MEMBERS]
    if fire_count > len(lists) or members > len(pieces):
        return GROW_SCRATCH
    if state[ROWS] + members > len(out.candidate) or state[RULES] + fire_count > len(out.rules):
        return GROW_OUTPUT
    # the rules of each member, ascending
    _sort_packed(pieces, scratch.sorted, scratch.digits, piece_count, len(rule))
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
    _sort_packed(pieces, scratch.sorted, scratch.digits, members, len(rule))
    start = np.int64(0)
    for i in range(members):
        order[0, i] = pieces[i] & LOW
        if i + 1 == members or pieces[i] >> 32 != pieces[i + 1] >> 32:
            _sort_run(rule, lists, list_ptr, pool, order, start, i + 1)
            start = np.int64(i + 1)
    row, rule_at, level = state[ROWS], state[RULES], 0
    for i in range(members):
        place = order[0, i]
        first, last = list_ptr[place], list_ptr[place + 1]
        if i > 0 and _compare(rule, lists, list_ptr, order[0, i - 1], place) != 0:
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
        out.candidate[row] = pool[place]
        out.rule_count[row] = last - first
        out.strength[row] = strength
        out.level[row] = level
        out.kept[row] = kept
        row += 1
    state[ROWS], state[RULES] = row, rule_at
    return DONE


@jit
def apply_queries(
    facts, known, index, options, scratch, slots, entities, target_ptr, targets, size, out
):
    """Apply the rules to queries, from the first that is not done on.

    Parameters
    ----------
    facts, known : Facts
        What bodies are matched with, and what is known and therefore no candidate.
    index : Index
    options : Options
    scratch : Scratch
        ``state[DONE_QUERIES]``, ``state[ROWS]`` and ``state[RULES]`` tell how far `out` is filled.
    slots, entities : int32[queries]
    target_ptr : int64[queries + 1]
    targets : int32[*]
        The answers that are looked for, which take no place of the topX.
    size : int32[queries]
        How many candidates each query has; filled.
    out : Output

    Returns
    -------
    int
        DONE, GROW_OUTPUT or GROW_SCRATCH (make room and call again), or STOPPED.
    """
    state = scratch.state
    while state[DONE_QUERIES] < len(slots):
        if scratch.stop[0]:
            return STOPPED
        query = state[DONE_QUERIES]
        if state[STAMP] > 1 << 30:
            state[STAMP] = 0
            scratch.mark[:] = 0
            scratch.seen[:] = 0
            scratch.row[:] = 0
            scratch.memo[:] = 0
            scratch.bucket[:] = 0
        wanted = targets[target_ptr[query] : target_ptr[query + 1]]
        if not _apply_query(
            facts,
            known,
            index,
            options,
            scratch,
            slots[query],
            entities[query],
            wanted,
            scratch.totals,
        ):
            return GROW_SCRATCH
        status = _write(index.rule, index.weight, scratch, options.best, out)
        if status != DONE:
            return status
        size[query] = scratch.totals[MEMBERS]
        state[DONE_QUERIES] += 1
    return DONE
