"""Records and columns: what the kernels of the engine are given, and how it is laid out.

The entity and relation of a query make a *slot*, ``2 * relation + direction``, which is at the same
time the step key that leads from the query's entity to its answers.

numba passes each array of a record as seven numbers, at every level of calls. So arrays that are
used together are a record, and a kernel gets the records it needs, not all there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
# - the latest stamp, that of the query, how much of the arena is used, the node whose frontier is
#   marked in `Walk.row` and the stamp of these marks
# - queries that are done, and the rows and rules of the output that they take
# - of the query: pieces, fires, members of the pool, those of them that are no target, and its
#   direction
STAMP, QUERY, USED, MARKED, MARK_STAMP, DONE_QUERIES, ROWS, RULES = range(8)
PIECES, FIRES, MEMBERS, RIVALS, DIRECTION = range(8, 13)
CELLS = 13


class Facts(NamedTuple):
    """The facts that bodies are matched with (see `kgagg.graph.adjacency.Adjacency`)."""

    entity_ptr: np.ndarray
    segment_key: np.ndarray
    segment_ptr: np.ndarray
    neighbours: np.ndarray


class RuleTable(NamedTuple):
    """Rules, by rank.

    Attributes
    ----------
    rule : int32[rules, 7]
        Kind, side of the head variable, head constant, body constant, where the body begins in
        `body_keys`, its length, level (rules of equal level are not told apart by MAX+).
    weight : float64[rules]
        ``-log(1 - confidence)``.
    body_keys : int32[*]
    open_ptr : int64[slots + 1]
    open_entity : int32[*]
        For each step key, the entities that can take it; with strict identity, to another entity.
    """

    rule: np.ndarray
    weight: np.ndarray
    body_keys: np.ndarray
    open_ptr: np.ndarray
    open_entity: np.ndarray


class SimpleRules(NamedTuple):
    """Acyclic and general rules by what makes them fire.

    Attributes
    ----------
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
    """

    forward_slot: np.ndarray
    forward_group: np.ndarray
    forward_constant: np.ndarray
    forward_hit: np.ndarray
    backward_slot: np.ndarray
    backward_group: np.ndarray
    backward_hit: np.ndarray


class Trie(NamedTuple):
    """The bodies of cyclic rules.

    Attributes
    ----------
    node : int32[nodes + 1, 9]
        Node i < slots is the root of slot i, children stand together by ascending key.
        Parent, key of the step to the node, depth, most steps below, most sets of a row of its
        frontier, last rule below; where its children, the rules that end there
        and (for children of roots) the stream of all rules below begin.
    ending : int32[*]
        The rules whose body ends at a node, ascending.
    stream : int32[*, 2]
        All rules below a child of a root, ascending, and the node that each ends at.
    steps : int64[slots, 3]
        For each step key, how many entities can take it, to how many it leads, how many edges.
    """

    node: np.ndarray
    ending: np.ndarray
    stream: np.ndarray
    steps: np.ndarray


class Index(NamedTuple):
    """Rules by what makes them fire."""

    rules: RuleTable
    simple: SimpleRules
    trie: Trie


class Options(NamedTuple):
    """What counts as a prediction, and how far to go (see `kgagg.engine.semantics`)."""

    strict: bool
    branching: int
    discrimination: int
    top_x: int
    best: int
    complete: bool


class Walk(NamedTuple):
    """Working space of walks along bodies; stamped arrays need no clearing between uses."""

    arena: np.ndarray  # int32[*]: frontiers
    row: np.ndarray  # int32[entities, 2]: stamp of the frontier it is in, and its row there
    seen: np.ndarray  # int32[entities]: stamp of the rule that found it
    found: np.ndarray  # int32[entities]: what a rule predicts
    path: np.ndarray  # int64[6, 64]: positions of a depth-first search


class Frontiers(NamedTuple):
    """Which frontiers of the trie are in `Walk.arena`."""

    memo: np.ndarray  # int64[nodes, 3]: stamp of the query, start and stop of a frontier
    climb: np.ndarray  # int32[64]: nodes on the way to a frontier


class Queue(NamedTuple):
    """The rules of a query that are still to come."""

    hits: np.ndarray  # int64[*]: rules that are no cyclic ones, as `SimpleRules.forward_hit`
    heap: np.ndarray  # int64[slots]: packed next rule and number of a stream of cyclic rules
    streams: np.ndarray  # int32[slots, 3]: the rest of each stream, and its child of the root
    stack: np.ndarray  # int32[nodes]: nodes still to visit


class Pool(NamedTuple):
    """The candidates of a query, and what predicts them."""

    allowed: np.ndarray  # bool[2, entities]: which may be tails, and which heads; for all threads
    mark: np.ndarray  # int32[entities, 4]: see the columns above
    member: np.ndarray  # int32[entities]: candidates as they came
    fires: np.ndarray  # int32[*]: places in the pool, rule by rule
    pieces: np.ndarray  # int64[*]: packed rule and number of a piece of `fires`
    piece_start: np.ndarray  # int64[*]


class Chains(NamedTuple):
    """The segments of the pool's members by step key, to walk from a candidate backward."""

    bucket: np.ndarray  # int64[slots, 4]: stamp of the query, first link, neighbours, links
    links: np.ndarray  # int32[*, 3]: next link, place in the pool, segment


class Lists(NamedTuple):
    """Working space of writing: the rules of each candidate."""

    list_ptr: np.ndarray  # int64[entities + 1]: rules of each candidate of the pool
    lists: np.ndarray  # int32[*]
    order: np.ndarray  # int32[2, entities]
    digits: np.ndarray  # int64[256]: counts of a radix sort
    sorted: np.ndarray  # int64[*]: the other half of a radix sort


class Scratch(NamedTuple):
    """Working space of one thread."""

    stop: np.ndarray  # bool[1]: shared by all threads, which end at the next query when it is set
    state: np.ndarray  # int64[CELLS]: see the cells above
    walk: Walk
    frontiers: Frontiers
    queue: Queue
    pool: Pool
    chains: Chains
    lists: Lists


class Output(NamedTuple):
    """What is found, query after query (see `kgagg.engine.Firings`)."""

    candidate: np.ndarray  # int32[rows]
    rule_count: np.ndarray  # int32[rows]
    strength: np.ndarray  # float64[rows]
    level: np.ndarray  # int32[rows]
    kept: np.ndarray  # int32[rows]
    rules: np.ndarray  # int32[*]
