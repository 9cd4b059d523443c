"""Kernels are compiled by one process, and do what Python does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.types.functions import BaseFunction

from kgagg.jit import inner_kernels, kernels

KERNEL = """
import sys
from kgagg.jit import kernels

@kernels(__file__)
def twice(x):
    return 2 * x

sys.stdin.readline()
assert twice(int(sys.argv[1])) == 2 * int(sys.argv[1])
print(sum(twice.stats.cache_misses.values()))
"""


def test_processes_side_by_side_compile_a_kernel_once(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(i)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            text=True,
        )
        for i in range(3)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    compiled = [int(process.communicate()[0]) for process in processes]
    assert sorted(compiled) == [0, 0, 1]


def test_an_index_that_leaves_its_array_is_found(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text("""
import numpy as np
from kgagg.jit import inner_kernels, kernels

@inner_kernels()
def item(array, i):
    return array[i]

@kernels(__file__)
def last(array, i):
    return item(array, i)

last(np.arange(3), -1)
""")
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=checked, capture_output=True, text=True)
    assert "IndexError" in done.stderr


def _move(source: Any, target: Any, flags: Any, i: int, j: int) -> None:
    """Read and write items in each way that there is."""
    target[i, j] = source[i, j] + source[np.uint8(0), -1]
    target[-1, 0] = flags[j]
    row = target[1]
    row[j] = source[1][-1]
    flags[i] = not flags[i]
    flags[-1] = source[i, j] > 0


@pytest.mark.parametrize("layout", ["C", "F", "every other"])
@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float64])
def test_kernels_read_and_write_the_items_that_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type, layout: str
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    inner = inner_kernels()(_move)
    outer = kernels(__file__)(lambda *arguments: inner(*arguments))
    results = []
    for function in (_move, outer):
        values: np.ndarray = np.arange(1, 33).astype(kind).reshape(4, 8)
        source = {"C": values, "F": np.asfortranarray(values), "every other": values[::2, ::2]}
        target, flags = np.zeros_like(source[layout]), np.arange(8) % 3 == 0
        function(source[layout], target, flags, 0, 3)
        results.append((target, flags))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_numba_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    before = BaseFunction.get_call_type
    assert kernels(__file__)(lambda x: x + 1)(2) == 3
    with pytest.raises(numba.TypingError):
        kernels(__file__)(lambda x: x.no_such_thing)(2)
    assert BaseFunction.get_call_type is before
