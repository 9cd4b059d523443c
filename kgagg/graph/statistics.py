"""What is in a graph, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgagg.graph.leakage import leaking

if TYPE_CHECKING:
    from kgagg.graph.graph import Graph


def statistics(graph: Graph) -> dict[str, int]:
    """Count what is in a graph.

    Returns
    -------
    dict
        ``entities`` and ``relations`` of the train split; triples in ``train``, ``valid``,
        ``test``; ``repeated``, lines that a split repeats; ``shared``, triples that two
        splits have, so that they leak; ``given away``, test triples that follow from a related
        relation in train (see `kgagg.graph.leakage`); ``unseen``, test triples with a name that
        train lacks.
    """
    # the names of train are numbered before all others
    entities = int(graph.train[:, ::2].max()) + 1
    relations = int(graph.train[:, 1].max()) + 1
    unseen = (graph.test[:, ::2] >= entities).any(axis=1) | (graph.test[:, 1] >= relations)
    overlaps = graph.overlaps
    return {
        "entities": entities,
        "relations": relations,
        "train": len(graph.train),
        "valid": len(graph.valid),
        "test": len(graph.test),
        "repeated": sum(count for where, count in overlaps.items() if "&" not in where),
        "shared": sum(count for where, count in overlaps.items() if "&" in where),
        "given away": int(leaking(graph).sum()),
        "unseen": int(unseen.sum()),
    }
