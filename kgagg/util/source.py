"""What a module of this package is made of: the modules it imports, and a digest of their code.

Two things depend on code and must be made anew when it changes: results (see `code_digest`) and
compiled kernels (see `file_digest`). Both follow the imports, wherever in a module they stand,
but for those that only a type checker sees.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def code_digest(*modules: str) -> str:
    """Compute a digest of the code of modules of this package, and of all that they import from it.

    Comments, the layout of the text and docstrings do not count: a result need not be made again
    for them.

    Parameters
    ----------
    *modules : str
        Full names, such as ``"kgagg.graph.graph"``.

    Returns
    -------
    str
        sha256, as hex.
    """
    files = closure(modules)
    lines = (f"{name} {_code(files[name].read_bytes())}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Compute a digest of the text of a file and of all modules of this package that it imports."""
    source = path.read_bytes()
    digest = hashlib.sha256(source)
    files = closure(imports(source))
    for name in sorted(files):
        digest.update(name.encode() + hashlib.sha256(files[name].read_bytes()).digest())
    return digest.hexdigest()


def closure(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules, and of all modules of this package that they import, by name."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and (path := source_file(name)):
            found[name] = path
            waiting += imports(path.read_bytes())
    return found


def source_file(module: str) -> Path | None:
    """Return the file of a module of this package, None if there is no such module."""
    path = ROOT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.exists()), None)


@cache
def imports(source: bytes, types: bool = False) -> tuple[str, ...]:
    """Name what a module imports from this package; some of the names may not be modules.

    Parameters
    ----------
    source : bytes
        The text of the module.
    types : bool
        With what only a type checker sees.
    """
    return tuple(dict.fromkeys(_imports(ast.parse(source), types)))


def _imports(tree: ast.AST, types: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if types or not checked:
                yield from _imports(node, types)
            continue
        for name in names:
            parts = name.split(".")
            # importing a module runs its packages; the top one only says which version this is
            if parts[0] == "kgagg":
                yield from (".".join(parts[:end]) for end in range(2, len(parts) + 1))


@cache
def _code(source: bytes) -> str:
    """Return the digest of the code of a module."""
    return hashlib.sha256(ast.dump(_WithoutText().visit(ast.parse(source))).encode()).hexdigest()


class _WithoutText(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop a statement that is nothing but a constant, as a docstring is."""
        return None if isinstance(node.value, ast.Constant) else node
