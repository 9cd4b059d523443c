"""Compile policy: every kernel of the package is compiled through `kernels`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from kgagg.files import cache_folder


def kernels(*sources: str, allocates: bool = True, inner: bool = False) -> Callable[..., Any]:
    """Return the decorator for the kernels of one module.

    numba notices a change in the file of a kernel, not in the files that it calls into. So the
    on-disk cache of a module is a folder named by the digest of all sources it is made of.

    Parameters
    ----------
    *sources : str
        ``__file__`` of the module, then of each module whose kernels it calls.
    allocates : bool
        If false, the kernels create no arrays and are compiled without reference counting.
    inner : bool
        If true, the kernels are called by kernels only, and compiled without what Python needs.

    Returns
    -------
    callable
        ``numba.njit`` without the global lock, so that kernels run on a thread pool.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources:
        digest.update(Path(source).read_bytes())
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder() / "numba")
    folder = folder / f"{Path(sources[0]).stem.strip('_')}-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False

    def decorate(function: Callable[..., Any]) -> Any:
        # numba reads the folder when the decorator is applied
        previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(
                nogil=True,
                cache=writable,
                error_model="numpy",
                no_cpython_wrapper=inner,
                no_cfunc_wrapper=inner,
                _nrt=allocates,
            )(function)
        finally:
            numba.config.CACHE_DIR = previous

    return decorate
