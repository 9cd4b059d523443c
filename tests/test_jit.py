"""Kernels are compiled by one process, in either way, and do what Python does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.types.functions import BaseFunction

from kgagg.jit import inner_kernels, kernels

WAYS = ("plain", "fast")
KERNEL = """
import sys
from kgagg.jit import kernels

@kernels(__file__)
def twice(x):
    return 2 * x

sys.stdin.readline()
assert twice(int(sys.argv[1])) == 2 * int(sys.argv[1])
print(sum(twice.dispatcher.stats.cache_misses.values()))
"""


@pytest.mark.parametrize("way", WAYS)
def test_processes_side_by_side_compile_a_kernel_once(tmp_path: Path, way: str) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(i)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "KGAGG_JIT": way},
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


@pytest.mark.parametrize("way", WAYS)
def test_an_index_that_leaves_its_array_is_found(tmp_path: Path, way: str) -> None:
    script = tmp_path / "kernel.py"
    script.write_text("""
import sys
import numpy as np
from kgagg.jit import inner_kernels, kernels

@inner_kernels()
def item(array, i):
    return array[i]

@kernels(__file__)
def last(array, i):
    return item(array, i)

last(np.arange(3), int(sys.argv[1]))
""")
    checked = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "KGAGG_JIT": way,
    }
    for index in ("3", "-4"):
        call = [sys.executable, str(script), index]
        done = subprocess.run(call, env=checked, capture_output=True, text=True)
        assert "IndexError" in done.stderr


def test_an_untested_numba_gets_the_plain_way_and_says_so(tmp_path: Path) -> None:
    script = """
import sys
import numba
numba.__version__ = "0.99.0"
from kgagg import jit
assert not jit.is_fast()
for result in (3, 4):
    assert jit.kernels(sys.argv[1])(lambda x: x + 1)(result - 1) == result
assert "kgagg.jit.fast" not in sys.modules
"""
    (tmp_path / "kernel.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "kernel.py")],
        env={**os.environ, "NUMBA_CACHE_DIR": "/dev/null"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stderr.splitlines()) == 1
    assert "numba 0.99.0" in done.stderr


def test_without_a_compiler_kernels_are_plain_functions() -> None:
    script = """
from kgagg.jit import inner_kernels, kernels
def same(x):
    return x
assert kernels(__file__)(same) is same
assert inner_kernels()(same) is same
"""
    call = [sys.executable, "-c", "__file__ = 'kgagg/jit/__init__.py'" + script]
    root = Path(__file__).parents[1]
    subprocess.run(call, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, cwd=root, check=True)


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
    outer = kernels(__file__)(lambda a, b, c, i, j: inner(a, b, c, i, j))
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
