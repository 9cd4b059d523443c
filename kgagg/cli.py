"""The `kgagg` command: one module of `kgagg.commands` for each verb."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from kgagg import __version__
from kgagg.commands import _options
from kgagg.errors import Failed, InputError, nearest
from kgagg.timing import Stopwatch

# Each module has `add_parser(verbs)`, which imports nothing heavy, and `run(args)`, which returns
# what a record of the run says besides the seconds, if there is something.
VERBS = (
    "demo",
    *("fetch", "stats", "mine", "rules"),
    *("evaluate", "rank", "predict", "explain", "apply", "gather", "tune", "fit", "aggregate"),
    *("time", "report", "compile", "completion", "doctor"),
)


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Refuse the call."""
        raise InputError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            expected = f"expected {', '.join(action.choices)}{nearest(value, action.choices)}"
            raise argparse.ArgumentError(action, f"{value}: {expected}")


def parser() -> argparse.ArgumentParser:
    """Build the argument parser with all verbs."""
    top = Parser(
        prog="kgagg", description="Apply and aggregate rules for knowledge graph completion."
    )
    top.add_argument("--version", action="version", version=f"kgagg {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        module = importlib.import_module(f"kgagg.commands.{verb}")
        module.add_parser(verbs).set_defaults(run=module.run)
    for leaf in leaves(top):
        _options.add_common(leaf)
    return top


def leaves(parent: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of the verbs, and of their parts where they have some."""
    parts = [
        part
        for action in parent._actions
        if isinstance(action, argparse._SubParsersAction)
        for part in action.choices.values()
    ]
    for part in parts:
        yield from leaves(part)
    if not parts:
        yield parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 0 done, 2 wrong input, 1 anything else."""
    try:
        args = parser().parse_args(arguments)
        args.watch = Stopwatch()
        _options.tell(args, args.run(args) or {})
        sys.stdout.flush()
    except InputError as error:
        print(f"kgagg: error: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"kgagg: error: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        # what draws or runs Java is not needed by all, and so not always installed
        if error.name is None or error.name.startswith("kgagg"):
            raise
        print(f"kgagg: error: needs {error.name}: pip install {error.name}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"kgagg: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of our output went away (head, less): nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        # a file or folder that cannot be read or written
        if error.filename is None:
            raise
        print(f"kgagg: error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0
