"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from kgagg import __version__
from kgagg.cli import parser

sys.path.insert(0, str(Path(__file__).parent))
import street

project, author, release = "kgagg", "the authors of kgagg", __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
html_theme = "furo"
html_title = f"kgagg {release}"
html_static_path = ["static"]
html_css_files = ["extra.css"]
exclude_patterns = ["made/*"]
myst_heading_anchors = 3
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
# the types in docstrings are words and shapes, not references
napoleon_preprocess_types = False
# some words of docstrings are names of several things
suppress_warnings = ["ref.python"]


def verbs(parent: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all verbs, and of their parts where they have some."""
    for action in parent._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from list(verbs(verb)) or [verb]


def help_of_all() -> str:
    """Write the help of every verb, as the command prints it."""
    parts = []
    for verb in verbs(parser()):
        verb.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=96)
        parts.append(f"## {verb.prog}\n\n```text\n{verb.format_help()}```\n")
    return "\n".join(parts)


made = Path(__file__).parent / "made"
made.mkdir(exist_ok=True)
(made / "commands.md").write_text(help_of_all(), encoding="utf-8")
street.write(made)
