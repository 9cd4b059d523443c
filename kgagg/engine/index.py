"""The rule index: rules by what makes them fire."""

from __future__ import annotations

import numpy as np

from kgagg.engine.kernels import layout, sorting, trie
from kgagg.engine.kernels.layout import MORE, OPEN, SEARCH, SELF
from kgagg.engine.semantics import Semantics
from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.graph.vocabulary import free_table
from kgagg.rules.confidence import weight_of
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import CONSTANT, CYCLIC, DANGLING, GENERAL, ME_ID, SIDE, XX, ZERO

# Rows of frontiers hold up to binomial(atoms - 1, atoms / 2) sets of entities: one query with 18
# atoms takes 36 s and 3 GB.
LONGEST = 14


def expect_short(atoms: int) -> None:
    """Refuse a cyclic body of so many atoms that walking it would take for ever.

    Raises
    ------
    InputError
        If it is longer than LONGEST.
    """
    if atoms > LONGEST:
        raise InputError(
            f"a cyclic rule has {atoms} body atoms; the engine takes up to {LONGEST}, "
            "because time and memory double with each atom"
        )


def build_index(graph: Graph, rules: RuleSet, semantics: Semantics) -> layout.Index:
    """Index `rules` over the vocabularies of `graph`.

    Returns
    -------
    Index
        See there; its size grows with the number of rules and their steps.
    """
    slots = 2 * len(graph.relations)
    entities = len(graph.entities)
    length = np.diff(rules.body_ptr)[rules.body]
    side = rules.flags & SIDE
    fires = rules.body_constant != ME_ID

    acyclic = (rules.kind == CONSTANT) | (rules.kind == DANGLING)
    backward = np.flatnonzero(acyclic & fires & (rules.head_constant >= 0))
    slot = (2 * rules.relation + (1 - side)).astype(np.int32)
    for digits, buckets in ((rules.head_constant, entities), (slot, slots)):
        backward = _sorted(backward, digits, buckets)

    table = np.empty((len(rules), 7), np.int32)
    table[:, layout.KIND] = rules.kind
    table[:, layout.SIDE] = side
    table[:, layout.HEAD] = rules.head_constant
    table[:, layout.END] = rules.body_constant
    table[:, layout.BODY] = rules.body_ptr[rules.body]
    table[:, layout.LENGTH] = length
    table[:, layout.LEVEL] = np.arange(len(rules))
    if semantics.levels_by_value:
        table[:, layout.LEVEL] = np.cumsum(np.diff(rules.confidence, prepend=np.inf) != 0)
    open_ptr, open_entity, steps = _steps(graph.adjacency, semantics)
    weight = weight_of(rules.confidence)
    return layout.Index(
        layout.RuleTable(table, weight, rules.body_keys, open_ptr, open_entity),
        layout.SimpleRules(  # type: ignore[call-arg]
            *_forward(rules, semantics, length, side, fires, slots, entities),
            *_groups(slot[backward], rules.head_constant[backward], slots),
            (backward << 32) | MORE,
        ),
        layout.Trie(*_trie(rules, slots), steps),  # type: ignore[call-arg]
    )


def _steps(adjacency: Adjacency, semantics: Semantics) -> tuple[np.ndarray, ...]:
    """For each step key, the entities that can take it, and how far it spreads."""
    slots = len(adjacency.key_ptr) - 1
    sizes = np.diff(adjacency.segment_ptr)
    entity = np.repeat(
        np.arange(len(adjacency.entity_ptr) - 1, dtype=np.int32), np.diff(adjacency.entity_ptr)
    )
    takes = np.diff(adjacency.key_ptr)
    edges = np.bincount(adjacency.segment_key, sizes, slots).astype(np.int64)
    spread = np.stack([takes, takes[np.arange(slots) ^ 1], edges], axis=1)
    if semantics.strict_identity:
        # a step that leads nowhere but back to the entity is none
        taken = (sizes > 1) | (adjacency.neighbours[adjacency.segment_ptr[:-1]] != entity)
    else:
        taken = np.ones(len(sizes), np.bool_)
    rows = _sorted(np.flatnonzero(taken), adjacency.segment_key, slots)
    return _pointers(adjacency.segment_key[rows], slots), entity[rows], spread


def _forward(
    rules: RuleSet,
    semantics: Semantics,
    length: np.ndarray,
    side: np.ndarray,
    fires: np.ndarray,
    slots: int,
    entities: int,
) -> tuple[np.ndarray, ...]:
    """Rows for the rules that fire from the query's entity: by slot, first step and constant."""
    acyclic = (rules.kind != CYCLIC) & (rules.kind != GENERAL) & fires
    both = acyclic & ((rules.flags & XX) != 0)
    one = np.flatnonzero(acyclic & ~both)
    parts = [(one, (2 * rules.relation + side)[one])]
    for direction in (0, 1):
        if direction == 1 or not semantics.reflexive_heads_only:
            row = np.flatnonzero(both)
            parts.append((row, 2 * rules.relation[row] + direction))
    general = np.flatnonzero(rules.kind == GENERAL)
    parts += [(general, 2 * rules.relation[general] + direction) for direction in (0, 1)]
    rule = np.concatenate([part[0] for part in parts]).astype(np.int32)
    slot = np.concatenate([part[1] for part in parts]).astype(np.int32)

    key = np.full(len(rule), -1, np.int32)
    constant = rules.body_constant[rule].copy()
    stepping = (rules.kind[rule] != ZERO) & (rules.kind[rule] != GENERAL)
    key[stepping] = rules.body_keys[rules.body_ptr[rules.body[rule[stepping]]]]
    constant[rules.kind[rule] == DANGLING] = OPEN
    constant[rules.kind[rule] == ZERO] = OPEN
    constant[length[rule] > 1] = SEARCH
    # a general body is tried if the entity has the first edge that the body asks of it
    for i in np.flatnonzero(rules.kind[rule] == GENERAL):
        body = rules.body[rule[i]]
        atoms = rules.body_keys[rules.body_ptr[body] : rules.body_ptr[body + 1]].reshape(-1, 3)
        for relation, *ends in atoms:
            if slot[i] & 1 in ends:
                key[i] = 2 * relation + ends.index(slot[i] & 1)
                break
        constant[i] = SEARCH

    order = np.argsort(rule, kind="stable")
    for digits, buckets in ((constant, entities), (key, slots), (slot, slots)):
        order = _sorted(order, digits, buckets)
    constant, rule = constant[order], rule[order].astype(np.int64)
    predicted = rules.head_constant[rule].astype(np.int64)
    predicted[predicted == ME_ID] = SELF
    predicted[constant == SEARCH] = MORE
    return (*_groups(slot[order], key[order], slots), constant, (rule << 32) | predicted)


def _trie(rules: RuleSet, slots: int) -> tuple[np.ndarray, ...]:
    """Put the cyclic bodies into a trie: its nodes, the rules that end at each, and the streams."""
    cyclic = np.flatnonzero(rules.kind == CYCLIC).astype(np.int32)
    lengths = np.diff(rules.body_ptr)[rules.body[cyclic]]
    expect_short(lengths.max(initial=0))
    steps = int(lengths.sum())
    table = np.empty((3, slots + 2 * steps), np.int32)
    end, first = np.empty((2, 2, len(cyclic)), np.int32)
    nodes = trie.build_trie(
        cyclic,
        rules.relation,
        rules.body,
        rules.body_ptr,
        rules.body_keys,
        slots,
        free_table(2 * steps),
        table,
        end,
        first,
    )
    parent, key, depth = table[:, :nodes].copy()
    need, last, family = _bounds(parent, depth, cyclic, end)
    # number the nodes depth by depth, the children of a node together and by key
    number = np.arange(len(parent), dtype=np.int32)
    order = [number[:slots]]
    for level in range(1, depth.max(initial=0) + 1):
        rows = _sorted(np.flatnonzero(depth == level), key, slots)
        above = np.where(parent >= 0, number[parent], -1).astype(np.int32)
        rows = _sorted(rows, above, len(parent))
        number[rows] = sum(map(len, order)) + np.arange(len(rows), dtype=np.int32)
        order.append(rows)
    rows = np.concatenate(order)

    # rules were taken in order for either direction, and stable sorting keeps them so
    both = np.concatenate([cyclic, cyclic])
    ends, firsts = number[end.reshape(-1)], number[first.reshape(-1)]
    ending = _sorted(np.arange(len(ends)), ends, len(rows))
    stream = _sorted(np.arange(len(firsts)), firsts, len(rows))
    node = np.zeros((len(rows) + 1, 9), np.int32)
    above = np.where(parent >= 0, number[parent], -1)[rows]
    for column, values in enumerate((above, key[rows], depth[rows], need[rows])):
        node[:-1, column] = values
    node[:-1, layout.FAMILY] = family[rows]
    node[:-1, layout.LAST] = last[rows]
    node[:, layout.CHILD] = slots + _pointers(above[slots:], len(rows))
    node[:, layout.ENDING] = _pointers(ends, len(rows))
    node[:, layout.STREAM] = _pointers(firsts, len(rows))
    return node, both[ending], np.stack([both[stream], ends[stream]], axis=1)


def _bounds(
    parent: np.ndarray, depth: np.ndarray, rules: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find what is below each node of the trie: most steps, last rule, most sets of a frontier."""
    need, last = np.zeros(len(parent), np.int32), np.full(len(parent), -1, np.int32)
    for ends in end:
        np.maximum.at(last, ends, rules)
    for level in range(depth.max(initial=0), 0, -1):
        rows = np.flatnonzero(depth == level)
        np.maximum.at(need, parent[rows], need[rows] + 1)
        np.maximum.at(last, parent[rows], last[rows])
    # binomial(p + q, p), with p inner entities and q more to come
    inner, family = depth - 1, np.ones(len(parent), np.int64)
    for i in range(inner.max(initial=0)):
        rows = np.flatnonzero((inner > i) & (need > 1))
        family[rows] = family[rows] * (inner[rows] + need[rows] - i) // (i + 1)
    return need, last, family


def _sorted(order: np.ndarray, digits: np.ndarray, buckets: int) -> np.ndarray:
    """Reorder `order`, int64[n], by `digits`, int32 from -2 to `buckets` - 1, stably."""
    starts, result = np.zeros(buckets + 3, np.int64), np.empty_like(order)
    sorting.sort_rows(order, digits, starts, result)
    return result


def _groups(slot: np.ndarray, value: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows sorted by slot and value into groups of equal slot and value.

    Returns
    -------
    slot_ptr : int32[slots + 1]
    group : int32[groups + 1, 2]
        The value of each group, and where its rows begin.
    """
    new = (np.diff(slot, prepend=-1) != 0) | (np.diff(value, prepend=value[:1] - 1) != 0)
    rows = np.flatnonzero(new)
    group = np.zeros((len(rows) + 1, 2), np.int32)
    group[:-1, 0], group[:-1, 1], group[-1, 1] = value[rows], rows, len(slot)
    return _pointers(slot[rows], slots).astype(np.int32), group


def _pointers(values: np.ndarray, count: int) -> np.ndarray:
    """Where each of the values 0 to `count` - 1 begins once `values` are sorted: int64."""
    return np.concatenate([[0], np.cumsum(np.bincount(values, minlength=count))]).astype(np.int64)
