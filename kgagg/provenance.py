"""What a result was made with."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def code_digest(*modules: str) -> str:
    """Compute a digest of the code that modules of this package are made of.

    It covers the modules and all of the package that they import, directly or not. Comments, the
    layout of the text and docstrings do not count: a result need not be made again for them.

    Parameters
    ----------
    *modules : str
        Full names, such as ``"kgagg.graph"``.

    Returns
    -------
    str
        sha256, as hex.
    """
    trees: dict[str, ast.Module] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in trees and (path := _source(name)):
            trees[name] = tree = ast.parse(path.read_bytes())
            waiting += _imports(tree)
    digest = hashlib.sha256()
    for name in sorted(trees):
        digest.update(f"{name} {ast.dump(_WithoutText().visit(trees[name]))}\n".encode())
    return digest.hexdigest()


class _WithoutText(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop a statement that is nothing but a constant, as a docstring is."""
        return None if isinstance(node.value, ast.Constant) else node


def _source(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.exists()), None)


def _imports(tree: ast.Module) -> Iterator[str]:
    """Name what `tree` imports from this package; some of the names may not be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            # importing a module runs its packages; the top one only says which version this is
            if parts[0] == "kgagg":
                yield from (".".join(parts[:end]) for end in range(2, len(parts) + 1))
