"""Kernels are compiled by one process, in either way, and do what Python does."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

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


def run_kernel(
    folder: Path, cache: Path, way: str = "fast", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Compile the kernel in a process of its own, or read it from the cache, and call it."""
    (folder / "kernel.py").write_text(KERNEL)
    places = {"NUMBA_CACHE_DIR": str(cache), "TMPDIR": str(folder), "KGAGG_JIT": way}
    return subprocess.run(
        [sys.executable, str(folder / "kernel.py"), "4"],
        input="go\n",
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=True,
        **options,
    )


class Trap:
    """What runs code when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def _give_away(cache: Path) -> str:
    if os.geteuid():
        pytest.skip("only root can give a folder to another user")
    os.chown(cache, 12345, -1)
    return "belongs to another user"


def _open_to_all(cache: Path) -> str:
    cache.chmod(0o777)
    return "can be written to by other users"


def _open_to_group(cache: Path) -> str:
    if os.geteuid():
        pytest.skip("only root can give a folder to another group")
    os.chown(cache, -1, 12345)
    cache.chmod(0o770)
    return "can be written to by other users"


def _open_above(cache: Path) -> str:
    cache.parent.chmod(0o777)
    return f"{cache.parent} can be written to by other users"


@pytest.mark.parametrize("share", [_give_away, _open_to_all, _open_to_group, _open_above])
def test_nothing_runs_that_others_may_have_put_into_the_cache(
    tmp_path: Path, share: Callable[[Path], str]
) -> None:
    cache = tmp_path / "above" / "cache"
    assert run_kernel(tmp_path, cache).stdout == "1\n"
    assert cache.stat().st_mode & 0o777 == 0o700
    for path in cache.rglob("*.nb[ic]"):
        path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    why = share(cache)
    done = run_kernel(tmp_path, cache)
    assert done.stdout == "1\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kgagg: warning: {cache}: {why}, ")
    # neither ran it, nor left the private cache behind
    assert {path.name for path in tmp_path.iterdir()} == {"above", "kernel.py"}


def test_a_sticky_folder_above_is_safe(tmp_path: Path) -> None:
    (tmp_path / "above").mkdir()
    (tmp_path / "above").chmod(0o1777)
    for compiled in ("1\n", "0\n"):
        done = run_kernel(tmp_path, tmp_path / "above" / "cache")
        assert (done.stdout, done.stderr) == (compiled, "")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("keep", [0.0, 0.6])
def test_a_damaged_file_of_the_cache_is_compiled_again(
    tmp_path: Path, way: str, ending: str, keep: float
) -> None:
    cache = tmp_path / "cache"
    run_kernel(tmp_path, cache, way)
    (path,) = cache.rglob(f"*.{ending}")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    for compiled in ("1\n", "0\n"):
        done = run_kernel(tmp_path, cache, way)
        assert (done.stdout, done.stderr) == (compiled, "")


def test_kernels_run_where_nothing_can_be_written(tmp_path: Path) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = run_kernel(tmp_path, tmp_path / "cache", preexec_fn=no_room)
    assert done.stdout == "1\n"
    (line,) = done.stderr.splitlines()
    assert "kept for this run only" in line


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
    script = tmp_path / "kernel.py"
    script.write_text("""
import sys
import numba
numba.__version__ = "0.99.0"
from kgagg import jit
assert not jit.is_fast()
for result in (3, 4):
    assert jit.kernels(__file__)(lambda x: x + 1)(result - 1) == result
assert "kgagg.jit.fast" not in sys.modules
""")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "NUMBA_CACHE_DIR": "/dev/null"},
        capture_output=True,
        text=True,
        check=True,
    )
    unkept, untested = done.stderr.splitlines()
    assert unkept.startswith("kgagg: warning: /dev/null: ")
    assert "numba 0.99.0" in untested


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


def test_compiling_leaves_the_garbage_collector_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert gc.isenabled()
    assert kernels(__file__)(lambda x: x + 1)(2) == 3
    assert gc.isenabled()
    with pytest.raises(numba.TypingError):
        kernels(__file__)(lambda x: x.no_such_thing)(2)
    assert gc.isenabled()
