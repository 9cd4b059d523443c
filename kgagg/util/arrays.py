"""A file of named arrays that opens memory-mapped: one line of JSON, then the arrays, aligned."""

from __future__ import annotations

import contextlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.errors import InputError
from kgagg.util.files import replacing

_MAGIC = b"kgagg arrays 1\n"
_ALIGN = 64
_PAGE = 1 << 21


def in_large_pages(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return `arrays`, those of less than 4 MB as copies side by side in large pages of memory.

    Where memory is read here and there, as along the edges of a graph, it takes time to find the
    pages, less if they are large. numpy asks for large pages by itself, but for large arrays only.
    """
    small = {name: array for name, array in arrays.items() if array.nbytes < 2 * _PAGE}
    starts = np.cumsum([0] + [-(-array.nbytes // _ALIGN) * _ALIGN for array in small.values()])
    block = mmap.mmap(-1, int(starts[-1]) + _PAGE)
    # neither every platform nor every kernel has large pages
    with contextlib.suppress(AttributeError, OSError):
        block.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(block, np.uint8)
    starts -= whole.ctypes.data % -_PAGE
    found = dict(arrays)
    for (name, array), start in zip(small.items(), starts, strict=False):
        copy = whole[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        found[name] = copy
    return found


def save_arrays(path: Path, kind: str, meta: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` with `meta` (anything JSON takes) as a file of the given `kind`."""
    layout, position = [], 0
    for name, array in arrays.items():
        layout.append([name, array.dtype.str, list(array.shape), position])
        position += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"kind": kind, "meta": meta, "arrays": layout}, sort_keys=True).encode()
    # the header is padded with blanks so that the arrays begin aligned
    start = -(-(len(_MAGIC) + len(header) + 1) // _ALIGN) * _ALIGN
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + header.ljust(start - len(_MAGIC) - 1) + b"\n")
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)
            file.write(bytes(-array.nbytes % _ALIGN))


def is_arrays(path: Path) -> bool:
    """Tell whether the file at `path` was written by `save_arrays`."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def open_arrays(path: Path, kind: str) -> tuple[Any, dict[str, np.ndarray]]:
    """Map the arrays of a file written by `save_arrays`.

    Returns
    -------
    meta : object
        What was given to `save_arrays`.
    arrays : dict of str to array
        The arrays, read from the file as they are touched. They are private copies to the
        kernels' eye (writable pages, changes never reach the file), because numba takes
        read-only arrays for another type and would compile everything twice.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with path.open("rb") as file:
        if file.readline() != _MAGIC:
            raise InputError(f"{path}: not a binary file of kgagg")
        line = file.readline()
        start, size = file.tell(), path.stat().st_size
        try:
            header = json.loads(line)
        except ValueError:
            raise InputError(f"{path}: truncated") from None
        if header["kind"] != kind:
            raise InputError(f"{path}: holds a {header['kind']}, expected a {kind}")
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays = {}
    for name, code, shape, position in header["arrays"]:
        dtype = np.dtype(code)
        count = int(np.prod(shape))
        if start + position + count * dtype.itemsize > size:
            raise InputError(f"{path}: truncated")
        flat = np.frombuffer(whole, dtype, count, start + position)
        arrays[name] = flat.reshape(shape)
    return header["meta"], arrays
