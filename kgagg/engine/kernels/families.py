"""Representative families: which sets of inner entities of paths must be kept.

A walk keeps sets of entities, not paths. Object identity (all entities of a path differ) is kept
exact by what each row of a frontier says of the paths to its entity:

- where only the last step is to come, the *core*: the inner entities that all paths share. A step
  to an entity is allowed unless it is in the core;
- where more steps are to come, a *representative family*: a few of the sets of inner entities of
  the paths, chosen so that whatever further entities the rest of the body takes, one of these
  paths avoids them if any path does. With p inner entities and q more to come, binomial(p + q, p)
  sets are enough (Bollobas' inequality; Monien, 1985).
"""

from __future__ import annotations

from kgagg.jit import inner_kernels

inner_jit = inner_kernels(allocates=False)


@inner_jit
def is_needed(arena, row, count, inner, more, new, path):
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
def are_disjoint(arena, row, count, inner):
    """Tell whether no two sets of a family share an entity."""
    for i in range(count * inner):
        for j in range((i // inner + 1) * inner, count * inner):
            if arena[row + i] == arena[row + j]:
                return False
    return True


@inner_jit
def intersect(arena, core, count, other, inner):
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
def avoids(arena, row, count, inner, entity):
    """Tell whether one of the sets of a family does without `entity`."""
    for i in range(abs(count)):
        free = True
        for j in range(inner):
            free &= arena[row + i * inner + j] != entity
        if free:
            return True
    return False


@inner_jit
def allows(arena, row, inner, more, entity):
    """Tell whether a path to the entity of `row` does without `entity`."""
    if inner == 0:
        return True
    if more > 1:
        return avoids(arena, row + 2, arena[row + 1], inner, entity)
    for i in range(arena[row + 1]):
        if arena[row + 2 + i] == entity:
            return False
    return True
