"""The kernels of the engine: compiled for the types that they are called with, by one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from kgagg.engine.ahead import nothing_to_apply
from kgagg.engine.engine import Engine, _facts, _Worker
from kgagg.engine.queries import Queries
from kgagg.graph.graph import Graph
from kgagg.graph.known import known_before
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet

CHECKED = ("every_shape", "hubs")


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
    worker = _Worker(engine, scratch.stop, np.ones((2, len(graph.entities)), np.bool_), few=False)
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
from kgagg.engine.kernels.query import apply_queries
stats = apply_queries.dispatcher.stats
print(sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(world), str(world / "rules.txt")],
        env={**os.environ, "KGAGG_CACHE": str(tmp_path)},
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
