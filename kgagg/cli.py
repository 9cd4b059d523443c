"""The `kgagg` command: one module of `kgagg.commands` for each verb."""

from __future__ import annotations

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
from kgagg.util.timing import Stopwatch

# Each module has `add_parser(verbs)`, which imports nothing heavy, and `run(args)`, which returns
# what a record of the run says besides the seconds, if there is something.
VERBS = (
    "demo",
    *("fetch", "stats", "mine", "rules"),
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
    """Run the command line; return its exit code: 0 done, 2 wrong input, 1 anything else."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(
            f"kgagg: warning: {message}", file=sys.stderr
        )
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        args = parser().parse_args(arguments)
        args.watch = Stopwatch()
        options.tell(args, args.run(args) or {})
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
