"""Compile policy: every kernel of the package is compiled through `kernels`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

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
class _PartLowering(NativeLowering):  # type: ignore[misc]
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


class _PartCompiler(CompilerBase):  # type: ignore[misc]
    """numba's usual passes, but for the last."""

    def define_pipelines(self) -> list[PassManager]:
        """Put `_PartLowering` in its place."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager = PassManager("part")
        for one, description in usual.passes:
            manager.add_pass(_PartLowering if one is NativeLowering else one, description)
        manager.finalize()
        return [manager]


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
    on-disk cache of a module is a folder named by the digest of all sources it is made of.

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

    options = {"cache": writable, "no_cfunc_wrapper": True, **_options(allocates)}

    def decorate(function: Callable[..., Any]) -> Any:
        # numba reads the folder when the decorator is applied
        previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(**options)(function)
        finally:
            numba.config.CACHE_DIR = previous

    return decorate


def _options(allocates: bool) -> dict[str, Any]:
    return {"nogil": True, "error_model": "numpy", "_nrt": allocates}
