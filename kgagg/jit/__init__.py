"""The compile policy: every kernel of the package is compiled through `kernels`.

Kernels need numba's documented interface alone (``numba.njit`` with documented options and the
on-disk cache) and compile with every version of numba that the package allows. For the versions in
`TESTED` there is a shorter way through numba's compiler (see `kgagg.jit.fast`), which gives the
same results sooner. The environment variable ``KGAGG_JIT=plain`` does without it.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba

from kgagg.jit.cache import explain, kernel_folder, note
from kgagg.util.source import file_digest

# the versions of numba whose private parts are those that `kgagg.jit.fast` was tested with
TESTED = ("0.68.1",)
# kernels run on a pool of threads, and divide as numpy does
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def inner_kernels(*, allocates: bool = True) -> Callable[..., Any]:
    """Return the decorator for kernels that are called by kernels only, and raise nothing.

    They have no cache of their own: it holds them within their callers.

    Parameters
    ----------
    allocates : bool
        See `kernels`.
    """
    if is_fast():
        from kgagg.jit import fast

        return fast.inner_decorator(_OPTIONS, allocates=allocates)
    return numba.njit(**_OPTIONS)


def kernels(source: str, *, allocates: bool = True) -> Callable[..., Any]:
    """Return the decorator for the kernels of one module that Python calls.

    numba notices a change in the file of a kernel, not in the files that it calls into. So the
    on-disk cache of a module is a folder named by the digest of the module and of all that it
    imports from this package.

    Parameters
    ----------
    source : str
        ``__file__`` of the module.
    allocates : bool
        If false, the kernels create no arrays. The shorter way then leaves out the counting of
        references.

    Returns
    -------
    callable
        Makes a `Kernel` of a function; with ``NUMBA_DISABLE_JIT=1`` leaves it as it is.
    """
    options: dict[str, Any] = dict(_OPTIONS)
    folder = _folder(Path(source))
    if folder is not None:
        options["cache"] = True
    if is_fast():
        from kgagg.jit import fast

        compiled = fast.decorator(options, allocates=allocates)
    else:
        compiled = numba.njit(**options)

    def decorate(function: Callable[..., Any]) -> Any:
        # numba reads the folder of the cache when it decorates
        previous = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder or previous)
        try:
            dispatcher = compiled(function)
        finally:
            numba.config.CACHE_DIR = previous
        return function if dispatcher is function else Kernel(dispatcher, folder)

    return decorate


class Kernel:
    """A compiled function as Python calls it.

    Of processes that start side by side one compiles it, and the others wait and read what that
    one wrote. Kernels cannot call it; what kernels call is made by `inner_kernels`.

    Parameters
    ----------
    dispatcher
        What ``numba.njit`` returns.
    folder : Path or None
        Where its module is cached.
    """

    def __init__(self, dispatcher: Any, folder: Path | None) -> None:
        functools.update_wrapper(self, dispatcher.py_func)
        self.dispatcher, self.folder = dispatcher, folder
        self._ready = False

    def __call__(self, *args: Any) -> Any:
        """Run the kernel; at first compile it."""
        if not self._ready:
            self._compile(args)
        try:
            return self.dispatcher(*args)
        except OSError as error:
            # compiled for other types than before, but not kept; kernels themselves raise none
            note(self.folder, error.strerror or str(error))
            explain()
            return self.dispatcher(*args)

    def is_cached(self) -> bool:
        """Tell whether it was compiled before, for arguments of some types."""
        return any(self._files(".nbi"))

    def _compile(self, args: tuple[Any, ...]) -> None:
        """Compile it for arguments of the types of `args`, or read it from the cache."""
        types = tuple(numba.typeof(value) for value in args)
        with contextlib.nullcontext() if self.is_cached() else self._turn():
            if not self.is_cached():
                _explain()
            try:
                self._compile_and_keep(types)
            except Exception:
                # a file of the cache may be damaged: then it is compiled again
                if not self._discard():
                    raise
                self._compile_and_keep(types)
        self._ready = True

    def _compile_and_keep(self, types: tuple[Any, ...]) -> None:
        try:
            with _no_garbage_collected():
                self.dispatcher.compile(types)
        except OSError as error:
            if types not in self.dispatcher.overloads:
                raise
            # it is compiled, but could not be kept, for example on a full disk
            note(self.folder, error.strerror or str(error))
            explain()

    def _files(self, ending: str) -> Iterator[Path]:
        """Yield its files in the cache: an index (.nbi), and code (.nbc)."""
        if self.folder is not None:
            yield from self.folder.rglob(f"*.{self.dispatcher.py_func.__name__}-*{ending}")

    def _discard(self) -> bool:
        """Remove its files from the cache; return whether there were any."""
        found = [*self._files(".nbi"), *self._files(".nbc")]
        for path in found:
            path.unlink(missing_ok=True)
        return bool(found)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other process compiles the kernel."""
        with contextlib.ExitStack() as stack:
            # some file systems have no locks: then each process compiles for itself
            with contextlib.suppress(OSError):
                if self.folder is not None:
                    path = self.folder / f"{self.dispatcher.py_func.__name__}.lock"
                    fcntl.flock(stack.enter_context(path.open("wb")), fcntl.LOCK_EX)
            yield


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Collect no garbage: numba makes millions of objects that stay, and each is looked at."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@functools.cache
def is_fast() -> bool:
    """Tell whether kernels are compiled the shorter way."""
    wanted = os.environ.get("KGAGG_JIT", "fast") != "plain"
    return wanted and numba.__version__ in TESTED and not numba.config.DISABLE_JIT


@functools.cache
def _explain() -> None:
    """Say once why compiling takes longer than it might."""
    explain()
    if numba.__version__ not in TESTED:
        print(
            f"kgagg: compiling with numba {numba.__version__}; it takes about half as long with "
            f"{' or '.join(TESTED)}",
            file=sys.stderr,
        )


def _folder(path: Path) -> Path | None:
    """Return the folder of the cache of a module; None if nothing can be kept."""
    # with NUMBA_BOUNDSCHECK=1, which finds indices that are not in their array, kernels are others
    way = "fast" if is_fast() else "plain"
    settings = f"{numba.__version__} {numba.config.BOUNDSCHECK} {way} {file_digest(path)}"
    digest = hashlib.sha256(settings.encode()).hexdigest()
    return kernel_folder(f"{path.stem.strip('_')}-{digest[:16]}")
