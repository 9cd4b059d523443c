"""The `kgagg` command: one module of `kgagg.commands` for each verb."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

from kgagg import __version__, platform_problem

# before anything is imported that not every platform has
if problem := platform_problem():
    sys.exit(f"kgagg: error: {problem}")

from kgagg.commands import options
from kgagg.commands.parser import Parser
from kgagg.errors import Failed, InputError
from kgagg.util.interrupts import answering
from kgagg.util.terminal import one_line, prepare_streams
from kgagg.util.timing import Stopwatch

# Each module has `add_parser(verbs)`, which imports nothing heavy, and `run(args)`, which returns
# what a record of the run says besides the seconds, if there is something.
VERBS = (
    "demo",
    *("fetch", "split", "stats", "mine", "rules"),
    *(
        "evaluate",
        "rank",
        "score",
        "predict",
        "materialise",
        "explain",
        "explore",
        "apply",
        "gather",
        "fit",
        "aggregate",
    ),
    *("time", "report", "compile", "completion", "doctor"),
)


def parser() -> Parser:
    """Build the argument parser with all verbs."""
    top = Parser(
        prog="kgagg", description="Apply and aggregate rules for knowledge graph completion."
    )
    top.add_argument("--version", action="version", version=f"kgagg {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        module = importlib.import_module(f"kgagg.commands.{verb}")
        part = module.add_parser(verbs)
        # what demo and completion need: a verb that calls others does not import them
        part.set_defaults(run=module.run, call=main, parser=parser)
        top.parts.append(part)
    for leaf in top.leaves():
        options.add_common(leaf)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code.

    It is 0 for done, 2 for wrong input, 130 for Ctrl-C (and so for other signals), 1 for anything
    else.
    """
    prepare_streams()
    try:
        with answering(), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: _tell(f"warning: {message}")
            return _main(arguments)
    except KeyboardInterrupt as interrupt:
        _tell(str(interrupt) or "interrupted")
        return getattr(interrupt, "code", 130)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        try:
            args = parser().parse_args(arguments)
        except SystemExit:
            # after --help, whose text may not have arrived
            sys.stdout.flush()
            raise
        args.watch = Stopwatch()
        options.check_outputs(args)
        options.tell(args, args.run(args) or {})
        sys.stdout.flush()
    except InputError as error:
        return _failed(error, 2)
    except Failed as error:
        return _failed(error, 1)
    except ModuleNotFoundError as error:
        # what draws or runs Java is not needed by all, and so not always installed
        if error.name is None or error.name.startswith("kgagg"):
            raise
        return _failed(f"needs {error.name}: pip install {error.name}", 1)
    except MemoryError as error:
        why = str(error) or "an allocation failed"
        return _failed(f"out of memory: {why} ({_LESS_MEMORY})", 1)
    except BrokenPipeError:
        # the reader of our output went away (head, less): nothing is wrong
        _drop_output()
    except OSError as error:
        if error.errno == errno.ENOMEM:
            return _failed(f"out of memory ({_LESS_MEMORY})", 1)
        # files have names
        if error.filename is None and error.errno not in _FULL:
            raise
        full = error.errno in _FULL
        return _failed(f"{error.filename or 'standard output'}: {error.strerror}", 1 if full else 2)
    return 0


_LESS_MEMORY = "use fewer --threads, a smaller --top-x, or --memory less than the machine has"
# no room, or no output: not the fault of who named the file
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def _failed(error: object, code: int) -> int:
    """Say what went wrong, and return the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    _tell(f"error: {error}")
    return code


def _tell(message: str) -> None:
    print(f"kgagg: {one_line(message)}", file=sys.stderr)


def _drop_output() -> None:
    """Lose what was printed and cannot be written; Python would try again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
