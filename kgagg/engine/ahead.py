"""Compiling ahead: a second process compiles the largest kernel while the first reads its input."""

from __future__ import annotations

import atexit
import subprocess
import sys
from typing import Any

import numpy as np

from kgagg.engine.kernels import layout
from kgagg.engine.kernels.query import apply_queries
from kgagg.engine.scratch import new_output, new_scratch
from kgagg.jit import Kernel
from kgagg.util.machine import processors


def compile_ahead(threads: int | None) -> None:
    """Have `apply_queries` compiled by another process, unless it is in the cache.

    It takes as long to compile as all other kernels together. Whoever needs it first waits for
    that process, which ends with this one at the latest.

    Parameters
    ----------
    threads : int, optional
        How many threads may be used; all processors by default. With one, nothing is done.
    """
    kernel = apply_queries
    # with no compiler there is nothing to do, and without a cache nothing would be found
    if not isinstance(kernel, Kernel) or kernel.folder is None or kernel.is_cached():
        return
    if (threads or processors()) < 2:
        return
    call = [sys.executable, "-c", "from kgagg.engine.ahead import compile_now; compile_now()"]
    # if it fails, so will the kernel here, and report why
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)


def compile_now() -> None:
    """Compile `apply_queries` by applying no rules to no queries."""
    apply_queries(*nothing_to_apply())


def nothing_to_apply() -> tuple[Any, ...]:
    """Return arguments of `apply_queries` of the right types, all of them empty."""
    none, pointers = np.zeros(0, np.int32), np.zeros(1, np.int64)
    pairs, hits = np.zeros((0, 2), np.int32), np.zeros(0, np.int64)
    facts = layout.Facts(none, none, none, none)
    index = layout.Index(
        layout.RuleTable(np.zeros((0, 7), np.int32), np.zeros(0), none, pointers, none),
        layout.SimpleRules(none, pairs, none, hits, none, pairs, hits),
        layout.Trie(np.zeros((0, 9), np.int32), none, pairs, np.zeros((0, 3), np.int64)),
    )
    options = layout.Options(True, 0, 0, 0, 0, True)
    everything = np.ones((2, 0), np.bool_)
    scratch = new_scratch(np.zeros(1, np.bool_), everything, entities=0, slots=0, nodes=0)
    out = new_output(0, 0)
    return (facts, facts, index, options, scratch, none, none, pointers, none, none, out)
