"""Hits: the acyclic and general rules that fire for a query, and what they predict.

Rules are found by what makes them fire: a rule whose body begins at the query's entity from that
entity's own edges, a rule whose head constant is the query's entity by that constant.
"""

from __future__ import annotations

import numpy as np

from kgagg.engine.kernels.layout import (
    BODY,
    END,
    HEAD,
    KIND,
    LENGTH,
    LOW,
    MORE,
    OPEN,
    SELF,
    SIDE,
    STAMP,
)
from kgagg.engine.kernels.search import join, walk_path
from kgagg.engine.kernels.sorting import gallop
from kgagg.graph.edges import find_segment
from kgagg.jit import inner_kernels
from kgagg.rules.shapes import CONSTANT, DANGLING, GENERAL, ME_ID

inner_jit = inner_kernels(allocates=False)


@inner_jit
def gather_hits(facts, simple, hits, slot, entity, strict):
    """List in `hits` the acyclic and general rules that may fire; -1 if there is no room.

    Rules whose body starts at the query's entity are found from its own edges, those whose head
    constant is the query's entity by that constant: rules that do not fire cost nothing.
    """
    # long: one loop over the edges of an entity
    segment_key, segment_ptr, neighbours = facts.segment_key, facts.segment_ptr, facts.neighbours
    (
        forward_slot,
        forward_group,
        forward_constant,
        forward_hit,
        backward_slot,
        backward_group,
        backward_hit,
    ) = simple
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
                at = gallop(forward_constant, at, rows_end, neighbour)
            elif constant > neighbour:
                edge = gallop(neighbours, edge, edges_end, constant)
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
def predict_hit(facts, rules, one, seen, found, path, state, slot, entity, goal, strict, bound):
    """Collect in `found` what a hit predicts that takes more to tell; return how many.

    `one` is its number. With a `goal` that is not negative, a general rule is
    only asked for this entity.
    """
    # long: the cases of one rule, in the order of their cost
    entity_ptr, segment_key, segment_ptr, neighbours = facts
    rule, open_ptr, open_entity = rules.rule[one], rules.open_ptr, rules.open_entity
    kind, constant, end = rule[KIND], rule[HEAD], rule[END]
    length = rule[LENGTH]
    keys = rules.body_keys[rule[BODY] : rule[BODY] + length]
    state[STAMP] += 1
    stamp = np.int32(state[STAMP])
    if kind == GENERAL:
        return join(
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
        count = walk_path(
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
            count = walk_path(
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
                holds = walk_path(
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


@inner_jit
def meet_hit(facts, links, pool, found, link, end, entity, strict):
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
            at = gallop(neighbours, first, last, end)
            holds = at < last and neighbours[at] == end
        if holds:
            found[count] = member
            count += 1
    return count
