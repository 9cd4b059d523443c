"""What people call the columns of triples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

_KNOWN = (
    {"head", "subject", "subj", "source", "src", "from", "start", "head_entity", "entity1"}
    | {"head_id", "source_id", ":start_id", "node1"},
    {"relation", "predicate", "pred", "rel", "property", "edge", "relation_type", "edge_type"}
    | {"type", "label", "metaedge", "relationship", ":type", "interaction"},
    {"tail", "object", "obj", "target", "dst", "to", "end", "tail_entity", "entity2"}
    | {"tail_id", "target_id", ":end_id", "node2"},
)


def positions(names: Sequence[str]) -> tuple[int, int, int] | None:
    """Return which columns are head, relation and tail, None if the names do not say it.

    Parameters
    ----------
    names : sequence of str
        The first line of a file, or the names of the columns of a table.
    """
    plain = [str(name).strip().lower().removeprefix("#").strip() for name in names]
    found = [[i for i, name in enumerate(plain) if name in known] for known in _KNOWN]
    if not all(len(places) == 1 for places in found):
        return None
    (head,), (relation,), (tail,) = found
    return head, relation, tail


# a relation may be called "type" or "label", hardly one of these
_TITLES = {"relation", "predicate", "property", "relationship", "relation_type", "edge_type"}


def titled(names: Sequence[str]) -> bool:
    """Return whether the second of the names is the title of a column rather than a relation."""
    return len(names) >= 3 and str(names[1]).strip().lower() in _TITLES


def report_columns(where: str, names: Sequence[str], chosen: Sequence[int]) -> None:
    """Report which columns of more than three are not used."""
    others = [str(name) for i, name in enumerate(names) if i not in chosen]
    if others:
        used = ", ".join(str(names[i]) for i in chosen)
        warnings.warn(f"{where}: uses {used}, not {', '.join(others)}", stacklevel=4)
