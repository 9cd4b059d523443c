"""Find names as one types: by what they contain, the best matches first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np


class NameIndex:
    """Names and their labels in one text, which is searched as a whole.

    Upper and lower case are the same. A million names take some ten milliseconds.

    Parameters
    ----------
    names : sequence of str
    labels : mapping from str to str
        Labels of some of the names.
    """

    def __init__(self, names: Sequence[str], labels: Mapping[str, str]) -> None:
        self._names = names
        # a line for each name: its label first, as people know it by that
        lines = [_line(name, labels.get(name)) for name in names]
        self._text = b"\n" + b"".join(lines)
        self._starts = np.array([1, *accumulate(map(len, lines), initial=1)][1:])

    def search(self, text: str, limit: int = 10) -> list[str]:
        """Return the names that match best.

        A name or label that equals `text` comes before one that begins with it, that before one
        with a word that does, and that before one that contains it anywhere.

        Parameters
        ----------
        text : str
        limit : int
            The most names.
        """
        wanted = _folded(text.strip())
        if not wanted:
            return []
        found: dict[int, None] = {}
        for before, after in _CLOSE:
            self._collect(before + wanted + after, found, limit)
        return [self._names[row] for row in found]

    def _collect(self, pattern: bytes, found: dict[int, None], limit: int) -> None:
        """Add the rows whose line has `pattern`, up to `limit` in all."""
        at = self._text.find(pattern)
        while at >= 0 and len(found) < limit:
            # a pattern that begins with a line break belongs to the line after it
            row = int(np.searchsorted(self._starts, at + pattern.startswith(b"\n"), "right")) - 1
            found[row] = None
            at = self._text.find(pattern, int(self._starts[row + 1]) - 1)


# what is before and after the text of a match, the closest first
_CLOSE = (
    *((b"\n", b"\n"), (b"\n", b"\t"), (b"\t", b"\n")),
    *((b"\n", b""), (b"\t", b"")),
    *((b" ", b""), (b"_", b""), (b"/", b"")),
    (b"", b""),
)


def _folded(text: str) -> bytes:
    return text.casefold().replace("\t", " ").replace("\n", " ").encode()


def _line(name: str, label: str | None) -> bytes:
    parts = [name] if label is None else [label, name]
    return b"\t".join(map(_folded, parts)) + b"\n"
