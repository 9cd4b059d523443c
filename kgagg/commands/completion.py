"""``kgagg completion``: what makes a shell complete the verbs, options and files of `kgagg`."""

from __future__ import annotations

import argparse
from typing import Any

from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
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

    from kgagg.data.registry import registry

    names = " ".join(registry())
    functions = {
        "bash": f'_kgagg_data() {{ compgen -d -- "$1"; compgen -W "{names}" -- "$1"; }}',
        "zsh": f"_kgagg_data() {{ _alternative 'd:dataset:({names})' 'f:folder:_files -/' }}",
    }
    print(shtab.complete(args.parser(), args.shell, preamble=functions[args.shell]))
