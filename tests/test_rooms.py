"""The rooms of the package: who may import whom."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kgagg.util.source import imports, source_file

PACKAGE = Path(__file__).parents[1] / "kgagg"
# along the data flow: a room imports those before it
STREET = (
    *("errors", "util", "jit", "theory"),
    *("data", "graph", "rules", "engine", "ranking"),
    *("strategies", "evaluation", "mining", "prediction", "explanation", "explore", "report"),
    *("commands", "pipeline"),
    # what is made of rooms
    *("api", "cli", "__main__"),
)


def modules() -> dict[str, Path]:
    """All modules by name, but for the package itself."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    del names["kgagg"]
    return names


def imported(path: Path) -> set[str]:
    """What a module imports from the package, also lazily and for type checkers: modules only."""
    found = imports(path.read_bytes(), types=True)
    return {name for name in found if source_file(name)} - {"kgagg"}


def room(module: str) -> str:
    return module.split(".")[1]


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_go_down_the_street(name: str) -> None:
    assert room(name) in STREET, f"{name}: its room is not on the street"
    here = STREET.index(room(name))
    above = {other for other in imported(modules()[name]) if STREET.index(room(other)) > here}
    assert not above, f"{name} imports {', '.join(sorted(above))}"


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {
        # a module in a package runs the package, which imports nothing
        name: {other for other in imported(path) if not name.startswith(f"{other}.")} - {name}
        for name, path in modules().items()
    }
    done: set[str] = set()
    while rest := {name for name in graph if name not in done}:
        free = {name for name in rest if graph[name] <= done}
        assert free, f"these import each other: {', '.join(sorted(rest))}"
        done |= free


def test_no_private_module_or_name_is_used_in_another_room() -> None:
    for name, path in modules().items():
        private = {
            other
            for other in imports(path.read_bytes(), types=True)
            if any(part.startswith("_") and not part.startswith("__") for part in other.split("."))
            and room(other) != room(name)
        }
        assert not private, f"{name} uses {', '.join(sorted(private))}"


def test_no_command_imports_another() -> None:
    shared = {f"kgagg.commands.{name}" for name in ("opening", "options", "parser")}
    for name, path in modules().items():
        if room(name) != "commands":
            continue
        own = {".".join(name.split(".")[:end]) for end in range(2, 6)}
        others = {
            other
            for other in imported(path) - shared - own
            if room(other) == "commands" and not other.rpartition(".")[2].startswith("_")
        }
        assert not others, f"{name} imports {', '.join(sorted(others))}"


def test_rooms_have_a_door_without_furniture() -> None:
    """The module of a package says what is in it; what it imported would be in every closure."""
    for folder in itertools.chain(PACKAGE.glob("*/"), PACKAGE.glob("*/*/")):
        door = folder / "__init__.py"
        # jit is one room with one thing in it, which every kernel needs
        if door.exists() and folder.parent.name != "commands" and folder.name != "jit":
            assert not imported(door), door


def third_party(path: Path) -> set[str]:
    """The packages that a module imports, without Python's own."""
    names = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"kgagg"}


def test_every_import_is_declared() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in extras for line in extras[name])]
    names = [re.match(r"[\w-]+", line) for line in lines]
    declared = {name.group().lower() for name in names if name}
    modules_of = {"pyyaml": "yaml"}
    known = {modules_of.get(name, name.replace("-", "_")) for name in declared}
    for name, path in modules().items():
        assert third_party(path) <= known, name


@pytest.mark.parametrize("name", sorted(modules()))
def test_functions_fit_on_a_screen_or_say_why_not(name: str) -> None:
    text = modules()[name].read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        assert node.end_lineno is not None
        length = node.end_lineno - node.lineno + 1
        parameters = len(node.args.args) + len(node.args.kwonlyargs)
        if length > 80 or parameters > 12:
            body = lines[node.lineno : node.body[min(1, len(node.body) - 1)].lineno]
            reason = any(line.strip().startswith("# long: ") for line in body)
            assert reason, f"{name}.{node.name}: {length} lines, {parameters} parameters"


def test_other_platforms_are_refused_in_one_line() -> None:
    script = "import sys; sys.platform = 'win32'; from kgagg.cli import main"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "kgagg: error: kgagg runs on Linux and macOS, not on win32; on Windows, use WSL"
    ]


@pytest.mark.parametrize(
    "name", sorted(p.stem for p in (PACKAGE.parent / "benchmarks").glob("*.py"))
)
def test_benchmarks_find_what_they_import(name: str) -> None:
    source = (PACKAGE.parent / "benchmarks" / f"{name}.py").read_bytes()
    for module, names in (
        (node.module, [alias.name for alias in node.names])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kgagg")
    ):
        found = importlib.import_module(str(module))
        for each in names:
            assert hasattr(found, each) or source_file(f"{module}.{each}"), f"{module}.{each}"
