from __future__ import annotations

from pathlib import Path

import pytest

from kgagg.util import source as provenance
from kgagg.util.source import code_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kgagg"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "a.py").write_text("def f():\n    from kgagg import b\n    return b.x\n")
    (folder / "b.py").write_text("from kgagg.inner.c import y\nx = y\n")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "c.py").write_text('"""Text."""\ny = 1\n')
    (folder / "d.py").write_text("z = 1\n")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    return folder


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("inner/c.py", "y = 2\n", True),
        ("inner/c.py", '"""Other text."""\n# a comment\ny   =   1\n', False),
        ("d.py", "z = 2\n", False),
        ("inner/__init__.py", "w = 1\n", True),
    ],
)
def test_the_digest_follows_the_code_that_is_used(
    package: Path, file: str, text: str, changes: bool
) -> None:
    before = code_digest("kgagg.a")
    (package / file).write_text(text)
    assert (code_digest("kgagg.a") != before) == changes


def test_the_code_of_a_verb_reaches_the_kernels() -> None:
    assert code_digest("kgagg.commands.stats") == code_digest(
        "kgagg.commands.stats", "kgagg.graph._reading", "kgagg.report.degrees"
    )
