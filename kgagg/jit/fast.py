"""A shorter way through numba's compiler, for the versions of numba that it was tested with.

This is the one file that knows private parts of numba, which change several times a year. It is
used for `kgagg.jit.TESTED` alone; every kernel compiles and gives the same results without it.
What each part brings is in docs/design.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import _dynfunc
from numba.core import cgutils, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.types import (  # type: ignore[attr-defined]
    Array,
    BaseTuple,
    Integer,
    IntegerLiteral,
    intp,
)
from numba.np.arrayobj import load_item, store_item


def decorator(options: dict[str, Any], *, allocates: bool) -> Callable[..., Any]:
    """Return ``numba.njit`` for kernels that Python calls.

    Parameters
    ----------
    options : dict
        Documented options of ``numba.njit``.
    allocates : bool
        See `kgagg.jit.kernels`.
    """
    return numba.njit(pipeline_class=_Compiler, _nrt=allocates, **options)


def inner_decorator(options: dict[str, Any], *, allocates: bool) -> Callable[..., Any]:
    """Return ``numba.njit`` for kernels that are called by kernels only, and raise nothing."""
    return numba.njit(pipeline_class=_PartCompiler, _nrt=allocates, **options)


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


class _Lower(Lower):  # type: ignore[misc]
    """Make code of a kernel, with little of it for each access to an array.

    numba makes the address of an item from a copy of all that it knows of the array, and compares
    each index with zero, as Python counts negative ones from the end. Here an item of a contiguous
    array is found from where that begins, and its shape. No kernel has negative indices (but for
    constants such as ``array[-1]``, which are left to numba).
    """

    def lower_getitem(self, kind: Any, expression: Any, array: Any, index: Any, known: Any) -> Any:
        """Read an item."""
        item = self._item(array, index)
        if item is None:
            return super().lower_getitem(kind, expression, array, index, known)
        of = self.typeof(array.name)
        value = load_item(self.context, self.builder, of, item)
        return self.context.cast(self.builder, value, of.dtype, kind)

    def lower_setitem(self, array: Any, index: Any, value: Any, known: Any) -> Any:
        """Write an item."""
        item = self._item(array, index)
        if item is None:
            return super().lower_setitem(array, index, value, known)
        of = self.typeof(array.name)
        new = self._cast_var(value, of.dtype)
        return store_item(self.context, self.builder, of, new, item)

    def _item(self, array: Any, index: Any) -> Any:
        """Return the address of ``array[index]``, or None if that is no item found by numbers."""
        of, kind = self.typeof(array.name), self.typeof(index.name)
        kinds = tuple(kind) if isinstance(kind, BaseTuple) else (kind,)
        contiguous = isinstance(of, Array) and of.layout == "C" and of.ndim == len(kinds)
        if not contiguous or not all(_counts_from_start(one) for one in kinds):
            return None
        at, builder = self.loadvar(index.name), self.builder
        places = cgutils.unpack_tuple(builder, at) if isinstance(kind, BaseTuple) else [at]
        places = [self.context.cast(builder, *one, intp) for one in zip(places, kinds, strict=True)]
        value = self.loadvar(array.name)
        field = self.context.data_model_manager[of].get_field_position
        start = builder.extract_value(value, field("data"))
        shape = cgutils.unpack_tuple(builder, builder.extract_value(value, field("shape")))
        check = self.context.enable_boundscheck
        return cgutils.get_item_pointer2(
            self.context, builder, start, shape, None, "C", places, boundscheck=check
        )


def _counts_from_start(index: Any) -> bool:
    if isinstance(index, IntegerLiteral):
        return bool(index.literal_value >= 0)
    return isinstance(index, Integer)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """Make code of a kernel by `_Lower`."""

    _name = "kernel_lowering"
    lowering_class = _Lower


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


class _Compiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler with the passes that plain loops over arrays and numbers need.

    There are no closures, no generators and no expressions of whole arrays.
    """

    lowering: type[_Lowering] = _Lowering

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        manager = PassManager("kernel")
        for one in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            self.lowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(one, one.__name__)
        manager.finalize()
        return [manager]


class _PartCompiler(_Compiler):
    """For kernels that are called by kernels only."""

    lowering = _PartLowering
