"""What a result was made with."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

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
    digests: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in digests and (path := _source(name)):
            digests[name], imports = _parsed(path.read_bytes())
            waiting += imports
    lines = (f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def _parsed(source: bytes) -> tuple[str, list[str]]:
    """Return the digest of the code of a module, and what it imports from this package."""
    tree = ast.parse(source)
    imports = list(_imports(tree))
    code = ast.dump(_WithoutText().visit(tree))
    return hashlib.sha256(code.encode()).hexdigest(), imports


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


def environment() -> dict[str, Any]:
    """Return what this machine and this installation are, as far as results may depend on it."""
    from importlib import metadata

    names = [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in metadata.requires("kgagg") or ()]
    packages = {}
    for name in sorted({"kgagg", *names}):
        with contextlib.suppress(metadata.PackageNotFoundError):
            packages[name] = metadata.version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "commit": _commit(),
        "packages": packages,
    }


def cpu_model() -> str:
    """Return the name of the processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit of the source, marked if files differ from it; None outside of git."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
