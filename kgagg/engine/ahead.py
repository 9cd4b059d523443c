"""Compiling ahead: a second process compiles the largest kernel while the first reads its input."""

from __future__ import annotations

import atexit
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kgagg.engine import kernels
from kgagg.engine.engine import _output, _scratch
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
    stats = kernels.apply_queries.stats
    if (threads or processors()) < 2 or stats.cache_path is None:
        return
    if any(Path(stats.cache_path).glob("*apply_queries*.nbi")):
        return
    call = [sys.executable, "-c", "from kgagg.engine.ahead import compile_now; compile_now()"]
    # if it fails, so will the kernel here, and report why
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)


def compile_now() -> None:
    """Compile `apply_queries` by applying no rules to no queries."""
    kernels.apply_queries(*nothing_to_apply())


def nothing_to_apply() -> tuple[Any, ...]:
    """Return arguments of `apply_queries` of the right types, all of them empty."""
    none, pointers = np.zeros(0, np.int32), np.zeros(1, np.int64)
    facts = kernels.Facts(none, none, none, none)
    index = kernels.Index(
        rule=np.zeros((0, 7), np.int32),
        weight=np.zeros(0),
        body_keys=none,
        forward_slot=none,
        forward_group=np.zeros((0, 2), np.int32),
        forward_constant=none,
        forward_hit=np.zeros(0, np.int64),
        backward_slot=none,
        backward_group=np.zeros((0, 2), np.int32),
        backward_hit=np.zeros(0, np.int64),
        open_ptr=pointers,
        open_entity=none,
        steps=np.zeros((0, 3), np.int64),
        node=np.zeros((0, 9), np.int32),
        ending=none,
        stream=np.zeros((0, 2), np.int32),
    )
    options = kernels.Options(True, 0, 0, 0, 0, True)
    scratch = _scratch(np.zeros(1, np.bool_), entities=0, slots=0, nodes=0)
    return (facts, facts, index, options, scratch, none, none, pointers, none, none, _output(0, 0))
