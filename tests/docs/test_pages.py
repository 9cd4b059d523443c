"""Every code block of the documentation and of the README runs, and prints what it says it prints.

Blocks of a page run one after the other in one folder, and Python blocks share their names. A block
of text after a block of code is what that prints; ``...`` stands for anything. A comment
``<!-- not run: why -->`` before a block says why it cannot run here: its calls are only checked.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from kgagg.cli import parser
from kgagg.data.datasets import fetch
from kgagg.data.registry import find
from kgagg.errors import Unavailable
from kgagg.pipeline import configuration
from kgagg.strategies import base, registry
from kgagg.util.files import cache_folder

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LANGUAGES = ("bash", "python", "text", "yaml")


class Block(NamedTuple):
    line: int
    language: str
    text: str
    reason: str | None


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, but for directives of Sphinx."""
    content = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(content):
        if not match["language"].startswith("{"):
            line = 1 + content[: match.start("text")].count("\n")
            yield Block(line, match["language"], match["text"], match["reason"])


def run_bash(text: str, folder: Path) -> str:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        # also where a page has a cache of its own: compiling takes longer than all of it
        "NUMBA_CACHE_DIR": str(cache_folder() / "numba"),
    }
    done = subprocess.run(
        ["bash", "-eu", "-c", text], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_python(page: Path, block: Block, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    # with the lines of the page, for the traceback
    code = compile("\n" * (block.line - 1) + block.text, page, "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def check_calls(text: str) -> None:
    """Check what a block calls: verbs and options of kgagg, targets of make, files."""
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        program = Path(words[0]).name if words else ""
        if program == "kgagg":
            parser().parse_args(words[1:])
        elif program == "make":
            assert set(words[1:]) <= set(targets), line
        for word in words:
            if word.startswith(("config/", "profiles/", "envs/")):
                assert (ROOT / word).exists(), line


def check_configuration(text: str) -> None:
    """Check what differs from the configuration of the workflow."""
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    schema = ROOT / "workflow" / "schemas" / "config.schema.yaml"
    configuration.check(config | yaml.safe_load(text), schema)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(blocks(page))
    for name in ("umls", "nations"):
        if any(re.search(rf"\b{name}\b", block.text) for block in found):
            try:
                fetch(find(name), quiet=True)
            except Unavailable as reason:
                pytest.skip(str(reason))
    # a page may register a strategy, and look for data in a place of its own
    registered = dict(base.REGISTERED)
    for module in (base, registry):
        monkeypatch.setattr(module, "REGISTERED", registered)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    printed: str | None = None
    for block in found:
        place = f"{page.relative_to(ROOT)}:{block.line}"
        assert block.language in LANGUAGES, place
        expected, printed = printed, None
        if block.reason:
            check_calls(block.text)
        elif block.language == "bash":
            printed = run_bash(block.text, tmp_path)
        elif block.language == "python":
            printed = run_python(page, block, names)
        elif block.language == "yaml":
            check_configuration(block.text)
        elif expected is not None:
            options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            same = doctest.OutputChecker().check_output(block.text, expected, options)
            assert same, f"{place}: expected\n{block.text}but it printed\n{expected}"


def test_the_documentation_builds_and_all_links_lead_somewhere(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    done = subprocess.run([*call, ROOT / "docs", tmp_path / "docs"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {page.stem for page in (tmp_path / "docs").glob("*.html")}
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} <= pages
    # nothing is loaded from elsewhere
    for page in (tmp_path / "docs").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<(script|img)[^>]*src=\"https?:", text), page.name
        assert not re.search(r"<link[^>]*rel=\"stylesheet\"[^>]*href=\"https?:", text), page.name
