"""Files: reading plain or compressed, writing whole or not at all, where the cache is."""

from __future__ import annotations

import bz2
import contextlib
import errno
import fcntl
import gzip
import lzma
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from kgagg.errors import InputError
from kgagg.util.interrupts import undone

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def cache_folder() -> Path:
    """Return the per-user folder for downloads and compiled kernels (``KGAGG_CACHE`` moves it)."""
    if folder := os.environ.get("KGAGG_CACHE"):
        return Path(folder)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "kgagg"
    try:
        return Path.home() / ".cache" / "kgagg"
    except RuntimeError:
        # in some containers the user has no home
        return Path(tempfile.gettempdir()) / f"kgagg-{os.getuid()}"


def open_binary(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading bytes, decompressing by its ending (.gz, .bz2, .xz, .zst).

    Raises
    ------
    InputError
        If there is no such file, or it may not be read.
    """
    path = Path(path)
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a file") from None
    except PermissionError:
        raise InputError(f"{path}: may not be read") from None
    match path.suffix:
        case ".gz":
            return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        case ".bz2":
            return cast(BinaryIO, bz2.BZ2File(raw))
        case ".xz":
            return cast(BinaryIO, lzma.LZMAFile(raw))
        case ".zst":
            # unlike the reader of zstandard, this one reports when the file ends too early
            import pyarrow

            return cast(BinaryIO, pyarrow.CompressedInputStream(raw, "zstd"))
    return raw


def blocks(path: str | os.PathLike[str], size: int = 1 << 24) -> Iterator[bytes]:
    """Read a plain or compressed file in blocks of `size` bytes.

    Raises
    ------
    InputError
        If the file cannot be read, or its compressed content is damaged.
    """
    with open_binary(path) as file:
        while True:
            try:
                block = file.read(size)
            except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
                raise InputError(f"{path}: damaged or truncated: {error}") from None
            if not block:
                return
            yield block


def line_blocks(path: str | os.PathLike[str], size: int = 1 << 21) -> Iterator[bytes]:
    """Read a file in blocks of whole lines of about `size` bytes; every line is ended by a LF.

    A byte order mark at the start is left out.
    """
    # parts of a line that has not ended: joined once, however many there are
    rest: list[bytes] = []
    first = True
    for block in blocks(path, size):
        if first:
            block, first = block.removeprefix(b"\xef\xbb\xbf"), False
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, block[:cut]])
            rest = [block[cut:]]
        else:
            rest.append(block)
    if last := b"".join(rest):
        yield last + b"\n"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path`, and move it to `path` when the block succeeds.

    Nothing is left behind when the block fails; a file that was there before stays as it was.
    A path that is not a plain file, such as /dev/stdout or a link, is written to directly.

    Raises
    ------
    OSError
        If the file cannot be written; it names `path`.
    """
    path = Path(path)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with _naming(path):
            yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _clean(path.parent)
    with _naming(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY, suffix=path.suffix)
    temporary = Path(name)
    with undone(lambda: temporary.unlink(missing_ok=True)):
        try:
            # as long as this process is there, nobody takes the file for one that was left behind
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _naming(path, temporary):
                yield temporary
                umask = os.umask(0)
                os.umask(umask)
                temporary.chmod(0o666 & ~umask)
                temporary.replace(path)
        finally:
            os.close(handle)


_TEMPORARY = ".kgagg-"
# seconds after which a temporary file that no process has was left behind
_OLD = 24 * 3600


@contextlib.contextmanager
def _naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Have errors of the block name the file that the user knows."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(temporary), temporary):
            raise
        # those of pyarrow have the reason in their text alone
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or errno.EIO, reason, str(path)) from error


def _clean(folder: Path) -> None:
    """Remove temporary files that killed processes have left."""
    for path in folder.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD:
                with path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open `path` for writing UTF-8 text through `replacing`, compressing by its ending."""
    with replacing(path) as temporary, _create(temporary) as text:
        yield text


def printing_or_writing(
    path: str | os.PathLike[str] | None,
) -> contextlib.AbstractContextManager[IO[str]]:
    """Open `path` for writing text (see `writing`); without one, give the standard output."""
    return contextlib.nullcontext(sys.stdout) if path is None else writing(path)


def _create(path: Path) -> IO[str]:
    match path.suffix:
        case ".gz":
            return gzip.open(path, "wt", encoding="utf-8")
        case ".bz2":
            return bz2.open(path, "wt", encoding="utf-8")
        case ".xz":
            return lzma.open(path, "wt", encoding="utf-8")
        case ".zst":
            import zstandard

            return cast(IO[str], zstandard.open(path, "wt", encoding="utf-8"))
    return path.open("w", encoding="utf-8", newline="\n")
