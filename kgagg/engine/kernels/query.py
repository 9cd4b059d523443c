"""Queries: from the entity and relation of a query to the pool of its candidates.

Rules come in the order of their rank until the pool is full. What is left then concerns the members
of the pool alone and comes in any order: it is sorted when the query is written.
"""

from __future__ import annotations

import numpy as np

from kgagg.engine.kernels.frontier import find_frontier, first_frontier, meet, row_stride, walk_end
from kgagg.engine.kernels.hits import gather_hits, meet_hit, predict_hit
from kgagg.engine.kernels.layout import (
    BACKWARD_COST,
    BODY,
    CHILD,
    DEPTH,
    DIRECTION,
    DONE,
    DONE_QUERIES,
    END,
    ENDING,
    FAMILY,
    FIRES,
    FORWARD_COST,
    GROW_SCRATCH,
    KEY,
    KIND,
    KNOWN,
    LAST,
    LENGTH,
    LOW,
    MARK_STAMP,
    MARKED,
    MEMBERS,
    MORE,
    NEED,
    PARENT,
    PIECES,
    PLACE,
    POOLED,
    QUERY,
    RIVALS,
    STAMP,
    STOPPED,
    TARGET,
    USED,
)
from kgagg.engine.kernels.sorting import sift
from kgagg.engine.kernels.trie import open_streams
from kgagg.engine.kernels.write import write
from kgagg.graph.edges import find_segment
from kgagg.jit import inner_kernels, kernels
from kgagg.rules.shapes import DANGLING, GENERAL

# what no number of a rule reaches
NO_RULE = 1 << 40

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)


@inner_jit
def take(state, pool, found, count, rule, closed):
    """Enter the first `count` of `found` as predictions of `rule`; False if there is no room.

    Only candidates that are no target count for topX, so each target meets at least topX rivals.
    """
    mark, member, fires, pieces = pool.mark, pool.member, pool.fires, pool.pieces
    query, direction = state[QUERY], state[DIRECTION]
    fire, members = state[FIRES], state[MEMBERS]
    if fire + count > len(fires) or state[PIECES] == len(pieces):
        return False
    for i in range(count):
        entity = found[i]
        if mark[entity, POOLED] != query:
            if closed or mark[entity, KNOWN] == query:
                continue
            if not pool.allowed[direction, entity] and mark[entity, TARGET] != query:
                continue
            mark[entity, POOLED] = query
            mark[entity, PLACE] = members
            member[members] = entity
            members += 1
            state[RIVALS] += mark[entity, TARGET] != query
        fires[fire] = mark[entity, PLACE]
        fire += 1
    if fire > state[FIRES]:
        piece = state[PIECES]
        pieces[piece] = (np.int64(rule) << 32) | piece
        pool.piece_start[piece] = state[FIRES]
        state[PIECES] = piece + 1
    state[FIRES], state[MEMBERS] = fire, members
    return True


@inner_jit
def take_ending(trie, state, pool, found, at, cut, count, closed):
    """Enter `count` predictions for each rule after `cut` that ends at the node `at`."""
    for i in range(trie.node[at, ENDING], trie.node[at + 1, ENDING]):
        rule = np.int64(trie.ending[i])
        if rule > cut and not take(state, pool, found, count, rule, closed):
            return False
    return True


@inner_jit
def bucket_pool(facts, member, members, bucket, links, query):
    """Chain the segments of the pool's members by step key; False if there is no room."""
    segment_ptr = facts.segment_ptr
    link = 0
    for place in range(members):
        first, last = facts.entity_ptr[member[place]], facts.entity_ptr[member[place] + 1]
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
def finish_hits(facts, rules, options, state, walk, pool, chains, hits, hit_count, slot, entity):
    """Apply the hits that are left to the pool alone if it is closed; False if out of room."""
    rule, found, bucket = rules.rule, walk.found, chains.bucket
    strict, bound, closed = options.strict, options.discrimination, np.bool_(options.top_x > 0)
    for i in range(hit_count):
        one, predicted = hits[i] >> 32, hits[i] & LOW
        if predicted != MORE:
            if closed and pool.mark[predicted, POOLED] != state[QUERY]:
                continue
            found[0] = predicted
            count = 1
        else:
            kind, end = rule[one, KIND], rule[one, END]
            key = rules.body_keys[rule[one, BODY]]
            spread = np.int64(-1)
            if closed and kind != GENERAL and rule[one, LENGTH] == 1:
                # about how many entities the rule predicts
                if kind == DANGLING:
                    spread = rules.open_ptr[key + 1] - rules.open_ptr[key]
                else:
                    segment = find_segment(facts.entity_ptr, facts.segment_key, end, key ^ 1)
                    if segment >= 0:
                        spread = facts.segment_ptr[segment + 1] - facts.segment_ptr[segment]
            links = bucket[key, 3] if closed and bucket[key, 0] == state[QUERY] else 0
            count = 0
            if spread > FORWARD_COST * links and (bound == 0 or spread < bound):
                if links > 0:
                    count = meet_hit(
                        facts, chains.links, pool.member, found, bucket[key, 1], end, entity, strict
                    )
            else:
                each = closed and kind == GENERAL
                for place in range(state[MEMBERS] if each else 1):
                    goal = np.int64(-1)
                    if each:
                        goal = np.int64(pool.member[place])
                        if goal == entity:
                            continue
                    count += predict_hit(
                        facts,
                        rules,
                        one,
                        walk.seen,
                        found[count:],
                        walk.path,
                        state,
                        slot,
                        entity,
                        goal,
                        strict,
                        bound,
                    )
        if count > 0 and not take(state, pool, found, count, one, closed):
            return False
    return True


@inner_jit
def finish_trie(
    facts, trie, options, state, walk, frontiers, pool, chains, stack, size, cut, entity
):
    """Apply the cyclic rules after rule `cut`, to the pool alone if it is closed; False if full.

    `stack` holds the `size` children of the root whose step the entity can take.
    """
    node, ending, memo, arena, row_of = trie.node, trie.ending, frontiers.memo, walk.arena, walk.row
    found, bucket = walk.found, chains.bucket
    bound, closed = options.discrimination, np.bool_(options.top_x > 0)
    while size:
        size -= 1
        at = stack[size]
        if node[at, LAST] <= cut or node[at, CHILD] == node[at + 1, CHILD]:
            continue
        if not find_frontier(facts, node, walk, frontiers, state, at, entity, options.branching):
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
            takes, reach, edges = trie.steps[key]
            links = bucket[key ^ 1, 3]
            # Looking back, a member finds the sooner an entity of the frontier the more there are.
            forward_cost = rows * FORWARD_COST + rows * edges // max(takes, 1)
            backward_cost = links * BACKWARD_COST + min(bucket[key ^ 1, 2], links * takes // rows)
            if not closed or (bound > 0 and reach >= bound) or forward_cost < backward_cost:
                state[STAMP] += 1
                count = walk_end(
                    facts,
                    walk,
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
                count = meet(
                    facts,
                    walk,
                    pool.member,
                    chains.links,
                    bucket[key ^ 1, 1],
                    inner,
                    node[at, NEED],
                    entity,
                    np.int32(state[MARK_STAMP]),
                )
            if count > 0 and not take_ending(trie, state, pool, found, below, cut, count, closed):
                return False
    return True


@inner_jit
def begin_query(known, state, mark, slot, entity, targets):
    """Mark what is known of the query and what is looked for."""
    state[STAMP] += 1
    query = state[STAMP]
    state[QUERY], state[USED], state[MARKED] = query, 0, -1
    state[PIECES : RIVALS + 1] = 0
    state[DIRECTION] = slot & 1
    segment = find_segment(known.entity_ptr, known.segment_key, entity, slot)
    if segment >= 0:
        for i in range(known.segment_ptr[segment], known.segment_ptr[segment + 1]):
            mark[known.neighbours[i], KNOWN] = query
    for answer in targets:
        mark[answer, TARGET] = query
        mark[answer, KNOWN] = 0


@inner_jit
def next_cyclic(trie, queue, size):
    """Take the best rule from the heap of streams: the node it ends at, and the new size."""
    heap, streams, stream = queue.heap, queue.streams, trie.stream
    which = heap[0] & LOW
    at = streams[which, 0] + 1
    streams[which, 0] = at
    if at < streams[which, 1]:
        heap[0] = (np.int64(stream[at, 0]) << 32) | which
    else:
        size -= 1
        heap[0] = heap[size]
    if size > 0:
        sift(heap, size, np.int64(0))
    return stream[at - 1, 1], size


@inner_jit
def fill_pool(
    facts, rules, trie, options, state, walk, frontiers, pool, queue, hit_count, size, slot, entity
):
    """Apply rule after rule until topX is reached.

    Returns
    -------
    hit_count : int
        How many hits are left, -1 if there is no room.
    last : int
        The rule with which topX is reached, NO_RULE if all were applied before.
    """
    # long: each record that a rule of any kind needs
    node, memo, found, hits, heap = trie.node, frontiers.memo, walk.found, queue.hits, queue.heap
    # literal arguments would make numba compile a function once more
    zero, none, closed = np.int64(0), np.int64(NO_RULE), np.bool_(False)
    for i in range(hit_count // 2 - 1, -1, -1):
        sift(hits, hit_count, i)
    one = np.int64(-1)
    while state[RIVALS] < options.top_x:
        next_hit = hits[0] >> 32 if hit_count > 0 else none
        next_one = heap[0] >> 32 if size > 0 else none
        one = min(next_hit, next_one)
        if one == none:
            break
        if next_hit < next_one:
            predicted = hits[0] & LOW
            hit_count -= 1
            hits[0] = hits[hit_count]
            if hit_count > 0:
                sift(hits, hit_count, zero)
            if predicted == MORE:
                count = predict_hit(
                    facts,
                    rules,
                    one,
                    walk.seen,
                    found,
                    walk.path,
                    state,
                    slot,
                    entity,
                    np.int64(-1),
                    options.strict,
                    options.discrimination,
                )
            else:
                found[0] = predicted
                count = 1
        else:
            end, size = next_cyclic(trie, queue, size)
            above = node[end, PARENT]
            if node[end, DEPTH] == 1:
                segment = find_segment(facts.entity_ptr, facts.segment_key, entity, node[end, KEY])
                count = first_frontier(facts, segment, found, zero, entity, zero)
            else:
                if not find_frontier(
                    facts, node, walk, frontiers, state, above, entity, options.branching
                ):
                    return -1, one
                state[STAMP] += 1
                count = walk_end(
                    facts,
                    walk,
                    memo[above, 1],
                    memo[above, 2],
                    node[above, DEPTH] - 1,
                    node[above, FAMILY],
                    node[above, NEED],
                    node[end, KEY],
                    entity,
                    np.int32(state[STAMP]),
                    options.discrimination,
                )
        if count > 0 and not take(state, pool, found, count, one, closed):
            return -1, one
    return hit_count, one


@inner_jit
def finish_roots(facts, trie, state, walk, pool, queue, stream_count, cut, entity, closed):
    """Apply the cyclic rules with one step after rule `cut`; False if out of room."""
    node, zero = trie.node, np.int64(0)
    for i in range(stream_count):
        top = queue.streams[i, 2]
        queue.stack[i] = top
        if node[top, ENDING] < node[top + 1, ENDING]:
            segment = find_segment(facts.entity_ptr, facts.segment_key, entity, node[top, KEY])
            count = first_frontier(facts, segment, walk.found, zero, entity, zero)
            if not take_ending(trie, state, pool, walk.found, top, cut, count, closed):
                return False
    return True


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
    # long: one loop over queries, with all that a thread has
    stop, state, walk, frontiers, queue, pool, chains, lists = scratch
    rules, simple, trie = index
    full = np.bool_(options.top_x > 0)
    while state[DONE_QUERIES] < len(slots):
        if stop[0]:
            return STOPPED
        query = state[DONE_QUERIES]
        slot, entity = slots[query], entities[query]
        if state[STAMP] > 1 << 30:
            state[STAMP] = 0
            pool.mark[:] = 0
            walk.seen[:] = 0
            walk.row[:] = 0
            frontiers.memo[:] = 0
            chains.bucket[:] = 0
        wanted = targets[target_ptr[query] : target_ptr[query + 1]]
        begin_query(known, state, pool.mark, slot, entity, wanted)
        hits = gather_hits(facts, simple, queue.hits, slot, entity, options.strict)
        if hits < 0:
            return GROW_SCRATCH
        streams = open_streams(facts, trie, queue, slot, entity)
        last = np.int64(-1)
        if full:
            hits, last = fill_pool(
                facts,
                rules,
                trie,
                options,
                state,
                walk,
                frontiers,
                pool,
                queue,
                hits,
                streams,
                slot,
                entity,
            )
            if hits < 0:
                return GROW_SCRATCH
        if not full or (options.complete and last < NO_RULE):
            members = state[MEMBERS]
            if not (
                (
                    not full
                    or bucket_pool(
                        facts, pool.member, members, chains.bucket, chains.links, state[QUERY]
                    )
                )
                and finish_hits(
                    facts, rules, options, state, walk, pool, chains, queue.hits, hits, slot, entity
                )
                and finish_roots(facts, trie, state, walk, pool, queue, streams, last, entity, full)
                and finish_trie(
                    facts,
                    trie,
                    options,
                    state,
                    walk,
                    frontiers,
                    pool,
                    chains,
                    queue.stack,
                    streams,
                    last,
                    entity,
                )
            ):
                return GROW_SCRATCH
        status = write(rules, state, pool, lists, options.best, out)
        if status != DONE:
            return status
        size[query] = state[MEMBERS]
        state[DONE_QUERIES] += 1
    return DONE
