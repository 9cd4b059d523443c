"""Searches for bodies that are no cyclic paths: depth first, all entities different."""

from __future__ import annotations

from kgagg.graph.edges import find_segment, has_edge
from kgagg.jit import inner_kernels

inner_jit = inner_kernels(allocates=False)


@inner_jit
def walk_path(
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
def join(
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
    # long: one search with its stack in arrays
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
                    one, other = values[atoms[3 * atom + 1]], values[atoms[3 * atom + 2]]
                    ends = int(one >= 0) + int(other >= 0)
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
