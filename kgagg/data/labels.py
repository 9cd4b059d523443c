"""Labels: names to show instead of the identifiers of entities."""

from __future__ import annotations

import os

from kgagg.errors import InputError
from kgagg.util.files import line_blocks


def read_labels(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read labels by entity from lines of entity, tab, label.

    Raises
    ------
    InputError
        If a line has no tab.
    """
    labels = {}
    lines = (line for block in line_blocks(path) for line in block.split(b"\n")[:-1])
    for number, line in enumerate(lines, start=1):
        name, tab, label = line.decode(errors="replace").rstrip("\r").partition("\t")
        if not tab:
            raise InputError(f"{path}:{number}: expected an entity, a tab and its label")
        labels[name] = label
    return labels
