"""Archives: only named members are extracted, to paths that we choose."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from kgagg.errors import InputError

# bytes of a download, and when unpacked: far above any benchmark, far below a full disk
SIZE_LIMIT = 1 << 33
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError)


def extract(archive: Path, targets: Mapping[str, Path], source: str) -> None:
    """Take files out of a zip or tar archive, compressed or not.

    Parameters
    ----------
    archive : Path
        The archive.
    targets : mapping from str to Path
        For each wanted member, its name or the end of its path, where to write it.
    source : str
        How messages name the archive.

    Raises
    ------
    InputError
        If it is not an archive, is damaged, lacks a member or has several, or is hostile:
        names that lead out of it, links, devices, or more than `SIZE_LIMIT` bytes.
    """
    found: dict[str, str] = {}
    files = _zip_files if zipfile.is_zipfile(archive) else _tar_files
    try:
        for name, content in files(archive):
            for wanted, target in targets.items():
                if PurePosixPath(name).match(wanted):
                    if wanted in found:
                        raise InputError(f"{source}: has both {found[wanted]} and {name}")
                    found[wanted] = name
                    with target.open("wb") as file:
                        shutil.copyfileobj(content, file)
    except _Hostile as error:
        raise InputError(f"{source}: archive refused: {error}") from None
    except (*_DAMAGED, OSError) as error:
        raise InputError(f"{source}: not an archive, or damaged: {error}") from None
    for wanted in targets:
        if wanted not in found:
            raise InputError(f"{source}: has no {wanted}")


class _Hostile(Exception):
    """The archive is not one that a person made to share data."""


def _zip_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        size = 0
        for member in archive.infolist():
            size += member.file_size
            # the upper half of the attributes is the Unix mode, and 0o12 its kind for links
            _inspect(member.filename, size, regular=member.external_attr >> 28 != 0o12)
            if member.flag_bits & 1:
                raise _Hostile(f"{member.filename} is encrypted")
            if not member.is_dir():
                with archive.open(member) as content:
                    yield member.filename, content


def _tar_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path) as archive:
        size = 0
        for member in archive:
            size += member.size
            _inspect(member.name, size, regular=member.isfile() or member.isdir())
            if content := archive.extractfile(member):
                yield member.name, content


def _inspect(name: str, size: int, *, regular: bool) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise _Hostile(f"{name} leads out of it")
    if not regular:
        raise _Hostile(f"{name} is a link or a device")
    if size > SIZE_LIMIT:
        raise _Hostile(f"more than {SIZE_LIMIT:,} bytes when unpacked")
