"""The argument parser of `kgagg`: it reports what is wrong in one line, and knows its parts."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from kgagg.errors import InputError, nearest

# what a shell is to complete: names that shtab knows, and our own function for data
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files"}
DATA = {"bash": "_kgagg_data", "zsh": "_kgagg_data"}


class Parser(argparse.ArgumentParser):
    """A parser of the command line.

    Attributes
    ----------
    parts : list of Parser
        The parsers of its verbs, or of the parts of a verb.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.parts: list[Parser] = []
        super().__init__(*args, **options)

    def add_argument(self, *args: Any, **options: Any) -> argparse.Action:
        """Add an argument, which a shell completes by what it is."""
        return completed(super().add_argument(*args, **options))

    def leaves(self) -> Iterator[Parser]:
        """Yield the parsers without parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def options(self) -> list[str]:
        """Return the names of the options, without dashes."""
        return list(dict.fromkeys(re.findall(r"--([a-z][\w-]*)", self.format_usage())))

    def error(self, message: str) -> NoReturn:
        """Refuse the call, with the nearest valid names."""
        wrong = re.fullmatch(r"(.*invalid choice: )'(.*)' \(choose from (.*)\)", message)
        if wrong:
            known = re.findall(r"[^\s,']+", wrong[3])
            place = wrong[1].removesuffix("invalid choice: ")
            message = f"{place}{wrong[2]}: expected {', '.join(known)}{nearest(wrong[2], known)}"
        raise InputError(f"{message} (see {self.prog} --help)")


def completed(action: argparse.Action) -> argparse.Action:
    """Say how a shell completes an argument: files, or data."""
    if action.metavar == "DATA":
        action.complete = DATA  # type: ignore[attr-defined]
    elif action.type is Path or action.metavar == "RULES":
        action.complete = FILES  # type: ignore[attr-defined]
    return action
