"""Change the code in small ways, one at a time, and say which changes no test notices.

A change turns ``<`` into ``<=``, ``+`` into ``-``, ``and`` into ``or``, ``min`` into ``max``, or a
whole number into the next one. Of all places in the package a seeded sample is taken; the tests of
the room that was changed run on a copy of the repository. Kernels are compiled again by themselves,
as their cache goes by their source.

Run it as a program: ``python tests/mutants/mutants.py --minutes 30 --seed 0 [ROOM ...]``.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
# a test that takes so long has noticed: the change made something endless
PATIENCE = 600


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, object, str]]:
    """Yield each change of a module: node, field, new value, and what it says."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Compare):
            operator = OPERATORS.get(type(node.ops[0]))
            if operator is not None:
                name = f"{type(node.ops[0]).__name__} to {operator.__name__}"
                yield node, "ops", [operator(), *node.ops[1:]], f"{line}: {name}"
        elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
            operator = OPERATORS.get(type(node.op))
            if operator is not None and not _is_text(node):
                name = f"{type(node.op).__name__} to {operator.__name__}"
                yield node, "op", operator(), f"{line}: {name}"
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, "value", node.value + 1, f"{line}: {node.value} to {node.value + 1}"
        elif isinstance(node, ast.Name) and node.id in NAMES:
            yield node, "id", NAMES[node.id], f"{line}: {node.id} to {NAMES[node.id]}"
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node, "attr", NAMES[node.attr], f"{line}: {node.attr} to {NAMES[node.attr]}"


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.JoinedStr | ast.List) for part in ast.walk(node))


def mutants(rooms: list[str]) -> list[tuple[Path, int]]:
    """Return every change of the rooms: the module, and the number of the change within it."""
    found = []
    for room in rooms:
        for path in sorted((ROOT / "kgagg" / room).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [(path.relative_to(ROOT), i) for i, _ in enumerate(changes(tree))]
    return found


def mutated(source: str, number: int) -> tuple[str, str]:
    """Return the source with one change, and what that says."""
    tree = ast.parse(source)
    node, field, value, what = list(changes(tree))[number]
    setattr(node, field, value)
    return ast.unparse(tree), what


def noticed(copy: Path, path: Path, changed: str) -> bool:
    """Tell whether the tests of its room fail when a module is changed."""
    source = (copy / path).read_text(encoding="utf-8")
    (copy / path).write_text(changed, encoding="utf-8")
    call = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*call, f"tests/{path.parts[1]}"],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        (copy / path).write_text(source, encoding="utf-8")


def main() -> int:
    """Try changes until the time is over; print those that nothing noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("rooms", nargs="*")
    args = parser.parse_args()
    tested = sorted(one.name for one in (ROOT / "tests").iterdir() if any(one.glob("test_*.py")))
    rooms = args.rooms or [room for room in tested if (ROOT / "kgagg" / room).is_dir()]
    sample = mutants(rooms)
    random.Random(args.seed).shuffle(sample)
    end, survivors, tried = time.monotonic() + 60 * args.minutes, [], 0
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for part in ("kgagg", "tests", "docs", "config", "workflow", "envs", "profiles"):
            shutil.copytree(ROOT / part, copy / part)
        for file in ("pyproject.toml", "Snakefile", "README.md"):
            shutil.copy(ROOT / file, copy / file)
        for path, number in sample:
            if time.monotonic() > end:
                break
            changed, what = mutated((copy / path).read_text(encoding="utf-8"), number)
            tried += 1
            seen = noticed(copy, path, changed)
            print(f"{'noticed ' if seen else 'SURVIVED'} {path}:{what}", flush=True)
            if not seen:
                survivors.append(f"{path}:{what}")
    print(f"{tried - len(survivors)} of {tried} noticed, {len(sample)} possible")
    return 0


if __name__ == "__main__":
    sys.exit(main())
