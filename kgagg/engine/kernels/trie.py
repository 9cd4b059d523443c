"""The trie of cyclic bodies: rules that begin with the same steps share the walk along them.

There is one root for each slot. A query takes the rules below its root in the order of their rank,
as a merge of streams, one for each first step that its entity can take.
"""

from __future__ import annotations

import numpy as np

from kgagg.engine.kernels.layout import CHILD, DEPTH, KEY, PARENT, STREAM
from kgagg.engine.kernels.sorting import sift
from kgagg.jit import inner_kernels, kernels

jit = kernels(__file__, allocates=False)
inner_jit = inner_kernels(allocates=False)


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
        A hash table with room for the nodes but the roots (see
        `kgagg.graph.vocabulary.free_table`).
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


@inner_jit
def open_streams(facts, trie, queue, slot, entity):
    """Queue the streams of cyclic rules whose first step `entity` can take; return how many."""
    segment_key, node, stream = facts.segment_key, trie.node, trie.stream
    heap, streams = queue.heap, queue.streams
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
        sift(heap, count, i)
    return count
