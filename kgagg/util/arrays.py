"""A file of named arrays that opens memory-mapped.

Its lines are the format's version, then a digest of the header and the header, which is JSON. The
arrays follow, aligned; the header has their digests, too.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.errors import InputError
from kgagg.util.checks import OLDER, checking, digest_of, expect
from kgagg.util.files import replacing

_NAME, _VERSION = b"kgagg arrays ", b"3\n"
_MAGIC = _NAME + _VERSION
_OLD = (_NAME + b"1\n", _NAME + b"2\n")
_DIGEST = 32
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
    flat = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
    for (name, array), data in zip(arrays.items(), flat, strict=True):
        layout.append([name, array.dtype.str, list(array.shape), position, digest_of(data)])
        position += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"kind": kind, "meta": meta, "arrays": layout}, sort_keys=True).encode()
    # the header is padded with blanks so that the arrays begin aligned
    before = len(_MAGIC) + _DIGEST
    start = -(-(before + len(header) + 2) // _ALIGN) * _ALIGN
    header = b" " + header.ljust(start - before - 2) + b"\n"
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + digest_of(header).encode() + header)
        for data in flat:
            file.write(data.data)
            file.write(bytes(-len(data) % _ALIGN))


def is_arrays(path: Path) -> bool:
    """Tell whether the file at `path` was written by `save_arrays`, of any version."""
    with path.open("rb") as file:
        return file.read(len(_NAME)) == _NAME


def open_arrays(path: Path, kind: str) -> tuple[Any, dict[str, np.ndarray]]:
    """Map the arrays of a file written by `save_arrays`, and compare them with their digests.

    Returns
    -------
    meta : object
        What was given to `save_arrays`.
    arrays : dict of str to array
        The arrays. They are private copies to the kernels' eye (writable pages, changes never
        reach the file), because numba takes read-only arrays for another type and would compile
        everything twice.

    Raises
    ------
    InputError
        If it is no such file, of another kind or an older version, or damaged.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with path.open("rb") as file:
        version = file.readline(len(_MAGIC))
        if version in _OLD:
            raise InputError(f"{path}: {OLDER}")
        if version != _MAGIC:
            raise InputError(f"{path}: not a binary file of kgagg")
        digest, line = file.read(_DIGEST), file.readline()
        if not line.endswith(b"\n"):
            raise InputError(f"{path}: truncated")
        if digest != digest_of(line).encode():
            raise InputError(f"{path}: damaged: the header does not have its digest")
        start = file.tell()
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    with checking(path):
        header = json.loads(line)
        if header["kind"] != kind:
            raise InputError(f"{path}: holds a {header['kind']}, expected a {kind}")
        arrays = {}
        for name, code, shape, position, digest in header["arrays"]:
            dtype, count = np.dtype(code), math.prod(shape)
            # nothing but plain numbers: an object would be a pointer
            expect(dtype.kind in "biuf" and dtype.isnative, f"{name} has the type {code}")
            expect(min([position, *shape]) >= 0, f"{name} does not fit")
            stop = start + position + count * dtype.itemsize
            if stop > len(whole):
                raise InputError(f"{path}: truncated")
            data = np.frombuffer(whole, np.uint8, count * dtype.itemsize, start + position)
            expect(digest == digest_of(data), f"{name} does not have its digest")
            arrays[name] = data.view(dtype).reshape(shape)
        return header["meta"], arrays
