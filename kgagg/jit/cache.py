"""Where compiled kernels are kept: a folder that nobody else can write to.

numba keeps compiled code as pickles, which run what is in them when they are read. So whoever can
write to the folder can run code as whoever reads from it.
"""

from __future__ import annotations

import atexit
import functools
import grp
import os
import pwd
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from kgagg.util.files import cache_folder

_VARIABLE = "NUMBA_CACHE_DIR"


def kernel_folder(name: str) -> Path | None:
    """Return the folder `name` of the cache of kernels; None if nothing can be kept anywhere.

    It is made for its owner alone. If the cache cannot be written to, or others can write to it, a
    private one is used for this run, and `explain` says so.
    """
    root = _usable(Path(os.environ.get(_VARIABLE) or cache_folder() / "numba"))
    try:
        return root and _made(root / name)
    except OSError as error:
        note(root, error.strerror or str(error))
        return None


def explain() -> None:
    """Say once why kernels are not kept, before they are compiled."""
    for why, folder in _problems.items():
        print(
            f"kgagg: warning: {folder}: {why}, so compiled kernels are kept for this run only "
            "(KGAGG_CACHE names another folder)",
            file=sys.stderr,
        )
    _problems.clear()


def note(folder: Path | None, why: str) -> None:
    """Keep in mind for `explain` why nothing can be kept in a folder."""
    _problems.setdefault(why, folder)


_problems: dict[str, Path | None] = {}


@functools.cache
def _usable(root: Path) -> Path | None:
    """Return `root` if it can be written to, by its owner only; or else a private folder."""
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        _made(root)
        why = _distrust(root) if os.access(root, os.W_OK) else "cannot be written to"
    except OSError as error:
        why = error.strerror
    if not why:
        return root
    note(root, why)
    try:
        private = Path(tempfile.mkdtemp(prefix="kgagg-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    # processes that this one starts use it, too
    os.environ[_VARIABLE] = str(private)
    return private


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _distrust(folder: Path) -> str | None:
    """Return why others can put something into a folder; None if they cannot.

    Who can write to a folder above it can put another folder in its place, unless the folder above
    is sticky, as /tmp is.
    """
    whole = folder.resolve()
    for place in (whole, *whole.parents):
        found = place.stat()
        if found.st_uid not in (os.geteuid(), 0):
            return f"{_named(place, whole)}belongs to another user"
        shared = stat.S_IWOTH if _is_own(found.st_gid) else stat.S_IWOTH | stat.S_IWGRP
        sticky = place != whole and found.st_mode & stat.S_ISVTX
        if found.st_mode & shared and not sticky:
            return f"{_named(place, whole)}can be written to by other users"
    return None


def _named(place: Path, whole: Path) -> str:
    return "" if place == whole else f"{place} "


def _is_own(group: int) -> bool:
    """Tell whether a group is that of the user alone, as many systems have one for each user."""
    try:
        return group == 0 or grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
