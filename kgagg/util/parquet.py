"""Parquet files with checksums of their pages, and digests of everything.

Pages have checksums that every reader can verify; neither their headers nor the footer have. So a
file of kgagg has digests of all its bytes, between the last page and the footer: a place that
readers pass over.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgagg.errors import InputError
from kgagg.util.checks import digest_of
from kgagg.util.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_MARK = b"kgagg digests 2:"
# with the digests of the pages and of the footer
_SIZE = len(_MARK) + 2 * 32
_KEY = b"kgagg.digests"
# the length of the footer, and the format's name
_END = 8


@contextlib.contextmanager
def parquet_writer(
    path: str | os.PathLike[str], schema: pa.Schema, **options: Any
) -> Iterator[pq.ParquetWriter]:
    """Open `path` for writing tables of this schema; the file appears when the block succeeds.

    Parameters
    ----------
    path : path
    schema : Schema
    **options
        Of `pyarrow.parquet.ParquetWriter`.
    """
    import pyarrow.parquet as pq

    with replacing(path) as temporary:
        with pq.ParquetWriter(temporary, schema, write_page_checksum=True, **options) as file:
            yield file
            # tells a file whose digest is gone from one that never had any
            file.add_key_value_metadata({_KEY: b"1"})
        _add_digest(temporary)


def _add_digest(path: Path) -> None:
    if not path.is_file():
        # what is written to a device cannot be read again
        return
    pages, footer = _parts(np.memmap(path, np.uint8, "r"))
    rest = footer.tobytes()
    with path.open("r+b") as file:
        file.seek(len(pages))
        file.write(_digests(pages, footer) + rest)


def _parts(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut the bytes of a file into what comes before the footer, and the footer."""
    length = _END + int.from_bytes(whole[-_END:-4].tobytes(), "little")
    return whole[:-length], whole[-length:]


def _digests(pages: np.ndarray, footer: np.ndarray) -> bytes:
    return _MARK + (digest_of(pages) + digest_of(footer)).encode()


def open_parquet(path: str | os.PathLike[str], what: str, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file, and compare it with its digest, if it has one.

    Parameters
    ----------
    path : path
    what : str
        What the file is expected to hold, for the message.
    **options
        Of `pyarrow.parquet.ParquetFile`.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged.
    """
    import pyarrow.parquet as pq

    verified = _verified(Path(path))
    with reading_parquet(path, what):
        file = pq.ParquetFile(path, page_checksum_verification=True, **options)
    if not verified and _KEY in (file.metadata.metadata or {}):
        raise InputError(f"{path}: damaged: the file does not have its digest")
    return file


@contextlib.contextmanager
def reading_parquet(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Raise InputError, naming the file, if the block cannot read it (see `open_parquet`)."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        told = f"{path}: expected a parquet file of {what}, or it is damaged: {reason}"
        raise InputError(told) from None


def _verified(path: Path) -> bool:
    """Compare a file with its digests; return whether it has any."""
    if not path.is_file() or path.stat().st_size < _END:
        return False
    before, footer = _parts(np.memmap(path, np.uint8, "r"))
    pages, found = before[:-_SIZE], before[-_SIZE:].tobytes()
    if not found.startswith(_MARK):
        return False
    if found != _digests(pages, footer):
        raise InputError(f"{path}: damaged: the file does not have its digest")
    return True
