"""The notebook of the documentation runs, and shows what it says it shows.

``python tests/docs/test_notebook.py`` runs it and writes what it shows into it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell as a notebook does; return what it shows: what it prints, and its last value."""
    tree = ast.parse(source)
    last = tree.body[-1] if isinstance(tree.body[-1], ast.Expr) else None
    tree.body = tree.body[:-1] if last else tree.body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None
        if last:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "metadata": {}, "data": data})
    return outputs


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with what its cells show."""
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = run_cell("".join(cell["source"]), names)
            for output in outputs:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = number
            cell = cell | {"execution_count": number, "outputs": outputs}
        cells.append(cell)
    return notebook | {"cells": cells}


def test_the_notebook_shows_what_its_cells_give() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    again = executed(notebook)
    for before, now in zip(notebook["cells"], again["cells"], strict=True):
        shown = [_plain(cell) for cell in (before, now)]
        assert shown[0] == shown[1], "".join(before["source"])
    kinds = [set(output.get("data", {})) for cell in again["cells"] for output in _outputs(cell)]
    assert sum("text/html" in kind for kind in kinds) >= 5


def _outputs(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return cell.get("outputs", [])


def _plain(cell: dict[str, Any]) -> list[str]:
    """What a cell shows as text; how pandas and the page look is not compared."""
    return [
        "".join(output.get("text", output.get("data", {}).get("text/plain", [])))
        for output in _outputs(cell)
    ]


if __name__ == "__main__":
    content = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    NOTEBOOK.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
