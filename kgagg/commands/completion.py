"""``kgagg completion``: what makes a shell complete the verbs, options and files of `kgagg`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import _options


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the parser of this verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "completion",
        help="complete verbs, options and files in the shell",
        description="Print a script that makes the shell complete verbs, options, datasets and "
        "files. For bash, add the example to ~/.bashrc; for zsh, write what is printed to a file "
        "_kgagg in a folder of $fpath.",
        epilog='example: eval "$(kgagg completion bash)"',
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    return parser


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    import shtab

    from kgagg.cli import parser
    from kgagg.datasets import registry

    top = parser()
    _complete_files(top, shtab.FILE)
    names = " ".join(registry())
    functions = {
        "bash": f'_kgagg_data() {{ compgen -d -- "$1"; compgen -W "{names}" -- "$1"; }}',
        "zsh": f"_kgagg_data() {{ _alternative 'd:dataset:({names})' 'f:folder:_files -/' }}",
    }
    print(shtab.complete(top, args.shell, preamble=functions[args.shell]))


def _complete_files(parser: argparse.ArgumentParser, file: Any) -> None:
    """Say which arguments of a parser and its verbs are files or data."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                _complete_files(verb, file)
        elif action.metavar == "DATA":
            action.complete = dict.fromkeys(("bash", "zsh"), "_kgagg_data")  # type: ignore[attr-defined]
        elif action.type in (Path, _options.picture) or action.metavar == "RULES":
            action.complete = file  # type: ignore[attr-defined]
