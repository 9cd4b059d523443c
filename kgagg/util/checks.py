"""Checks of what a file says: digests of its bytes, and ranges of its numbers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xxhash

from kgagg.errors import InputError

OLDER = "written by an older kgagg; write it again"


def digest_of(data: Any) -> str:
    """Return the digest of a buffer, as 32 hexadecimal digits, at the speed of memory.

    This finds damage, not forgery.

    Parameters
    ----------
    data : buffer
        Bytes one after the other.
    """
    return xxhash.xxh3_128_hexdigest(data)


@contextlib.contextmanager
def checking(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise InputError, naming the file, if the block finds something that it does not expect.

    For the content of a file only: whatever a damaged or crafted one says must not end in another
    exception.
    """
    try:
        yield
    except KeyError as error:
        raise InputError(f"{path}: damaged: has no {error.args[0]}") from None
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: damaged: {reason}") from None


def expect(holds: bool | np.bool_, reason: str) -> None:
    """Raise ValueError with `reason` unless it holds; `checking` makes it a line."""
    if not holds:
        raise ValueError(reason)


def expect_arrays(
    arrays: Mapping[str, np.ndarray], types: Mapping[str, tuple[type, ...]], *shape: int
) -> None:
    """Raise ValueError unless there are these arrays, each of one of its types.

    Parameters
    ----------
    arrays : mapping of str to array
    types : mapping of str to tuple of type
    *shape : int
        The shape of all of them, with -1 for any number.
    """
    for name, allowed in types.items():
        array = arrays[name]
        same = len(array.shape) == len(shape) and all(
            wanted in (-1, size) for wanted, size in zip(shape, array.shape, strict=True)
        )
        expect(array.dtype in allowed, f"{name} is {array.dtype}")
        expect(same, f"{name} has the shape {array.shape}")


def expect_within(name: str, values: np.ndarray, low: float, high: float) -> None:
    """Raise ValueError unless all values are from `low` up to `high`, which NaN is not."""
    if values.size:
        expect(values.min() >= low and values.max() <= high, f"{name} is out of range")


def expect_pointers(name: str, pointers: np.ndarray, size: int) -> None:
    """Raise ValueError unless the pointers cut an array of `size` values into parts."""
    expect(len(pointers) > 0 and pointers[0] == 0 and pointers[-1] == size, f"{name} does not fit")
    expect((pointers[1:] >= pointers[:-1]).all(), f"{name} does not ascend")


def expect_ascending(name: str, values: np.ndarray, pointers: np.ndarray) -> None:
    """Raise ValueError unless the values of each part ascend (see `expect_pointers`)."""
    falls = values[1:] <= values[:-1]
    starts = pointers[(pointers > 0) & (pointers < len(values))]
    falls[starts - 1] = False
    expect(not falls.any(), f"{name} does not ascend")


def expect_text(name: str, blob: np.ndarray, offsets: np.ndarray) -> None:
    """Raise ValueError unless the parts of a blob are UTF-8."""
    expect_pointers(f"offsets of {name}", offsets, len(blob))
    starts = offsets[offsets < len(blob)]
    # no character is cut
    expect(((blob[starts] & 0xC0) != 0x80).all(), f"{name} is not UTF-8")
    blob.tobytes().decode()
