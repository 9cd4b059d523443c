"""The rooms of the package: who may import whom."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kgagg.util.source import imports, source_file

PACKAGE = Path(__file__).parents[1] / "kgagg"
# along the data flow: a room imports those before it
STREET = (
    *("errors", "util", "jit", "theory"),
    *("data", "graph", "rules", "engine", "mining"),
    *("ranking", "strategies", "evaluation", "prediction", "explanation", "report"),
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
        if door.exists() and folder.parent.name != "commands":
            assert not imported(door), door
