"""Kernels are compiled by one process, and for the types that they are called with."""

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

from kgagg.engine.ahead import nothing_to_apply
from kgagg.engine.engine import Engine, _facts, _Worker
from kgagg.engine.queries import Queries
from kgagg.graph.graph import Graph
from kgagg.graph.known import known_before
from kgagg.jit import inner_kernels, kernels
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet

CHECKED = ("every_shape", "hubs")
KERNEL = """
import sys
from kgagg._compile import kernels

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


@pytest.mark.parametrize("kind", ["text", "binary"])
def test_what_is_compiled_ahead_is_what_will_be_called(
    world: Path, tmp_path: Path, kind: str
) -> None:
    graph = Graph.from_folder(world)
    names = (graph.entities, graph.relations)
    rules = RuleSet.read(world / "rules.txt", names, Confidence.preset("anyburl"))
    if kind == "binary":
        rules.save(tmp_path / "rules.kgagg")
        rules = RuleSet.read(tmp_path / "rules.kgagg", names, Confidence.preset("anyburl"))
    engine = Engine(graph, rules)
    queries = Queries.from_triples(graph.test)
    facts, known, index, _, scratch, _, entities, target_ptr, targets, _, out = nothing_to_apply()
    worker = _Worker(engine, scratch.stop)
    for empty, used in (
        (facts, engine.facts),
        (known, _facts(known_before(graph, "test"))),
        (index, engine.index),
        (scratch, worker.scratch),
        (entities, queries.entity),
        (target_ptr, queries.target_ptr),
        (targets, queries.target),
        (out, worker.out),
    ):
        assert numba.typeof(empty) == numba.typeof(used)


def test_the_largest_kernel_is_compiled_by_another_process(world: Path, tmp_path: Path) -> None:
    script = """
import sys
from kgagg.cli import main
assert main(["evaluate", *sys.argv[1:], "--strategies", "max", "--threads", "2"]) == 0
from kgagg.engine._kernels import apply_queries
print(sum(apply_queries.stats.cache_misses.values()), sum(apply_queries.stats.cache_hits.values()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(world), str(world / "rules.txt")],
        env={"KGAGG_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 1"


def test_no_index_leaves_its_array(tmp_path: Path) -> None:
    # nothing of Python's meaning of negative indices is left in kernels, so there must be none
    cases = [f"{Path(__file__).with_name('test_engine.py')}::test_{name}" for name in CHECKED]
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *cases]
    done = subprocess.run(call, env=checked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_an_index_that_leaves_its_array_is_found(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text("""
import numpy as np
from kgagg._compile import inner_kernels, kernels

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
