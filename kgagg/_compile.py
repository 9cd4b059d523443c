"""Compile policy: every kernel of the package is compiled through `kernels`."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numba
from numba import _dynfunc
from numba.core import ir
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.types import (  # type: ignore[attr-defined]
    Array,
    BaseTuple,
    Tuple,
    intp,
    uintp,
)

from kgagg.files import cache_folder


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel that is optimised and made machine code in its callers only.

    numba does both for each kernel by itself, and again in each that calls it: what is five calls
    deep would be compiled six times.
    """

    def finalize(self) -> None:
        """Link in what the kernel calls, and leave it at that."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Make code of a kernel, without provision for negative indices.

    Python counts those from the end of an array, so numba compares and adds before each access.
    No kernel has them (but for constants such as ``array[-1]``, which are left as they are).
    """

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Take each index for an unsigned number, then lower the kernel."""
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                item = statement.value if isinstance(statement, ir.Assign) else statement
                got = isinstance(item, ir.Expr) and item.op == "getitem"
                if got or isinstance(item, ir.SetItem):
                    signature = state.calltypes.pop(item)
                    array, index, *value = signature.args
                    if isinstance(array, Array):
                        signature = signature.replace(args=(array, _unsigned(index), *value))
                    state.calltypes[item] = signature
        lowered: bool = super().run_pass(state)
        return lowered


def _unsigned(index: Any) -> Any:
    if isinstance(index, BaseTuple):
        return Tuple([_unsigned(each) for each in index])
    return uintp if index == intp else index


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(_Lowering):
    """Make a kernel known to its callers, without what Python needs to call it."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the kernel into a `_PartLibrary`."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().run_pass(state)
        lowered = state["cr"]
        about = lowered.fndesc
        # callers find the kernel by this object, which has no code behind it
        entry = _dynfunc.make_function(
            about.lookup_module(), about.qualname, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(entry, about, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class _Flags(Flags):  # type: ignore[misc]
    """numba's flags, equal if the same options are set to the same.

    numba compares flags for each operation that it compiles. Its own way reads every option there
    is through a property; a fifth of the time of compiling went there.
    """

    __slots__ = ()
    _hash = hash(Flags())  # numba's hash is the same for all flags, and slow

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values


class _Compiler(CompilerBase):  # type: ignore[misc]
    """numba's usual passes but for the last, with `_Flags`, and without collecting garbage."""

    lowering: type[NativeLowering] = _Lowering

    def __init__(self, *args: Any) -> None:
        *before, flags, names = args
        super().__init__(*before, _Flags(flags), names)

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile `func`."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()

    def define_pipelines(self) -> list[PassManager]:
        """Put the lowering in its place."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager = PassManager("kernel")
        for one, description in usual.passes:
            manager.add_pass(self.lowering if one is NativeLowering else one, description)
        manager.finalize()
        return [manager]


class _PartCompiler(_Compiler):
    """For kernels that are called by kernels only."""

    lowering = _PartLowering


class _SharedCache(FunctionCache):  # type: ignore[misc]
    """numba's cache on disk, with turns: one process compiles a kernel, the others wait for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._lock_path = Path(self.cache_path) / f"{function.__name__}.lock"
        self._turn: IO[bytes] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel; if there is none, it is the turn of this process."""
        found = super().load_overload(sig, target_context)
        if found is None and self._turn is None:
            # some file systems have no locks: then each process compiles for itself
            with contextlib.suppress(OSError):
                self._turn = self._lock_path.open("wb")
                fcntl.flock(self._turn, fcntl.LOCK_EX)
                found = super().load_overload(sig, target_context)
            if found is not None:
                self._end_turn()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled kernel, and give the turn to the next."""
        super().save_overload(sig, data)
        self._end_turn()

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.close()
            self._turn = None


def inner_kernels(*, allocates: bool = True) -> Callable[..., Any]:
    """Return the decorator for kernels that are called by kernels only, and raise nothing.

    Parameters
    ----------
    allocates : bool
        See `kernels`.
    """
    # no cache: it has them within their callers
    return numba.njit(pipeline_class=_PartCompiler, **_options(allocates))


def kernels(*sources: str, allocates: bool = True) -> Callable[..., Any]:
    """Return the decorator for the kernels of one module.

    numba notices a change in the file of a kernel, not in the files that it calls into. So the
    on-disk cache of a module is a folder named by the digest of all sources it is made of, and of
    this file.

    Parameters
    ----------
    *sources : str
        ``__file__`` of the module, then of each module whose kernels it calls.
    allocates : bool
        If false, the kernels create no arrays and are compiled without reference counting.

    Returns
    -------
    callable
        ``numba.njit`` without the global lock, so that kernels run on a thread pool.
    """
    # with NUMBA_BOUNDSCHECK=1, which finds indices that are not in their array, kernels are others
    digest = hashlib.sha256(f"{numba.__version__} {numba.config.BOUNDSCHECK}".encode())
    for source in (__file__, *sources):
        digest.update(Path(source).read_bytes())
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder() / "numba")
    folder = folder / f"{Path(sources[0]).stem.strip('_')}-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False

    options = {"pipeline_class": _Compiler, "no_cfunc_wrapper": True, **_options(allocates)}

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if writable:
            # numba reads the folder when the cache is made
            previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
            try:
                kernel._cache = _SharedCache(function)
            finally:
                numba.config.CACHE_DIR = previous
        return kernel

    return decorate


def _options(allocates: bool) -> dict[str, Any]:
    return {"nogil": True, "error_model": "numpy", "_nrt": allocates}
