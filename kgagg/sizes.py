"""Sizes of memory, as people write them."""

from __future__ import annotations

import re

from kgagg.errors import InputError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Return the bytes that a text such as ``12G`` or ``800M`` stands for.

    Raises
    ------
    InputError
        If it stands for no size, or for less than a megabyte.
    """
    size = re.fullmatch(r"(\d+)([KMGT])B?", text.upper())
    count = int(size[1]) * _UNITS[size[2]] if size else 0
    if count < 1 << 20:
        raise InputError(f"{text}: not a size of memory, expected for example 12G or 800M")
    return count
