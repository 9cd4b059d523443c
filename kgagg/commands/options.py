"""What the verbs have in common."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgagg.commands.parser import Parser
from kgagg.errors import InputError
from kgagg.util.files import writing
from kgagg.util.machine import parse_size


def count(text: str) -> int:
    """Read a whole number that is not negative."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text}: expected at least 0")
    return number


def positive(text: str) -> int:
    """Read a whole number that is not less than one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected at least 1")
    return number


def ratio(text: str) -> tuple[float, ...]:
    """Read the shares of train, valid and test."""
    try:
        shares = tuple(float(item) for item in text.split(","))
    except ValueError:
        shares = ()
    if len(shares) != 3:
        raise argparse.ArgumentTypeError(f"{text}: expected three shares, such as 0.8,0.1,0.1")
    return shares


def memory(text: str) -> int:
    """Read a size of memory."""
    try:
        return parse_size(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def picture(text: str) -> Path:
    """Read the name of a picture."""
    path = Path(text)
    if path.suffix not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"{text}: expected a name that ends in .svg or .png")
    return path


def running(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that say how to apply rules (see `Engine.apply`)."""
    return {name: getattr(args, name) for name in ("top_x", "threads", "memory", "quiet")}


def add_data(parser: Parser, **options: Any) -> None:
    """Add the graph; `options` are those of the argument."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a folder with train.txt, one file (TSV, CSV, N-Triples, Turtle or Parquet, plain or "
        "compressed), or a registered dataset",
        **options,
    )
    add_literals(parser)


def add_literals(parser: Parser) -> None:
    """Add what becomes of the literals of RDF."""
    parser.add_argument(
        "--literals",
        choices=("drop", "keep"),
        default="drop",
        help="leave out triples of RDF with literals, and count them (default), or keep them",
    )


def add_labels(parser: Parser) -> None:
    """Add what to show beside names, or instead of them."""
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="show labels of entities and relations: lines of name, tab and label, CSV, JSON, or "
        "RDF with rdfs:label",
    )


def add_inputs(parser: Parser) -> None:
    """Add the graph and the rules."""
    add_data(parser)
    parser.add_argument(
        "rules",
        nargs="+",
        metavar="RULES",
        help="rule files of AnyBURL, PyClause or AMIE 3, plain or compressed (several are merged), "
        "or a binary rule set",
    )


def add_strategy(parser: Parser) -> None:
    """Add the strategy."""
    parser.add_argument(
        "--strategy",
        default="noisy-or-top-5",
        metavar="NAME",
        help="a strategy of `kgagg evaluate`, fitted first if necessary, or a file of `kgagg fit` "
        "(default: %(default)s)",
    )


def add_restriction(parser: Parser) -> None:
    """Add which entities may be answers."""
    only = parser.add_argument_group("which entities may be answers (default: all)")
    for side in ("heads", "tails"):
        only.add_argument(
            f"--{side}", type=Path, metavar="FILE", help=f"only these as {side}: one on each line"
        )
        only.add_argument(
            f"--{side}-of-type",
            metavar="A,B,...",
            help=f"only entities of these types as {side} (with --type-relation)",
        )
    only.add_argument(
        "--type-relation",
        metavar="NAME",
        help="the relation from an entity to its type, such as rdf:type",
    )


def add_top_x(parser: Parser) -> None:
    """Add how many candidates a query has."""
    parser.add_argument(
        "--top-x",
        type=count,
        default=200,
        metavar="N",
        help="the rule that reaches N candidates closes the pool of a query; 0: all (default: 200)",
    )


def add_scores(parser: Parser, help: str) -> None:
    """Add the scores of another model."""
    parser.add_argument(
        "--scores",
        type=Path,
        metavar="FILE.tsv",
        help=f"scores of another model, lines of head, relation, tail, score: {help}",
    )


def add_top_h(parser: Parser) -> None:
    """Add what noisy-or-top-h* chooses from."""
    parser.add_argument(
        "--top-h",
        type=_numbers,
        default=(1, 4, 5, 6, 7, 8, 9, 10),
        metavar="H,H,...",
        help="what noisy-or-top-h* chooses from; 1: max+, all: all rules (default: 1,4,5,...,10)",
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(0 if item == "all" else count(item) for item in text.split(","))


def add_meaning(parser: Parser) -> None:
    """Add how rules are read and what they predict, and the memory for it."""
    parser.add_argument(
        "--semantics",
        default="anyburl",
        metavar="NAME",
        help="anyburl (default) or pyclause: what a rule predicts, its weight, thresholds",
    )
    parser.add_argument("--pca", action="store_true", help="rank rules by AMIE's PCA confidence")
    add_no_leak(parser)
    parser.add_argument("--strict", action="store_true", help="stop at the first unusable rule")
    parser.add_argument(
        "--memory", type=memory, metavar="SIZE", help="such as 8G; default: 60 %% of what is free"
    )


def add_no_leak(parser: Parser) -> None:
    """Add what becomes of a graph whose splits overlap."""
    parser.add_argument(
        "--no-leak",
        action="store_true",
        help="refuse a graph whose valid or test has triples of an earlier split",
    )


def add_common(parser: Parser) -> None:
    """Add the options of every verb, without ``--json`` if the verb has its own."""
    common = parser.add_argument_group("options of every verb")
    own = "json" in parser.options()
    parser.set_defaults(recorded=not own)
    if not own:
        common.add_argument(
            "--json",
            type=Path,
            metavar="FILE",
            help="write a record with results, seconds and memory here",
        )
    common.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="use at most N (default: one for each processor); only what AnyBURL mines depends on "
        "it",
    )
    common.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    common.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="report how the rules were read, the seconds of each stage, and the memory",
    )


def passed_on(args: argparse.Namespace) -> list[str]:
    """Return the options of every verb, to call another verb with them."""
    words = [f"--{name}" for name in ("quiet", "verbose") if getattr(args, name)]
    return words + (["--threads", str(args.threads)] if args.threads else [])


def seconds(args: argparse.Namespace) -> dict[str, float]:
    """Return how long each stage of the run took, and the total so far."""
    stages = {name: round(value, 3) for name, value in args.watch.seconds.items()}
    return stages | {"total": round(args.watch.total(), 3)}


# the options that name files to write
_OUTPUTS = ("out", "to", "json", "html", "plot", "picture", "table", "ranks")


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse files that cannot be written, before any work is done.

    Raises
    ------
    InputError
        If something is in the way of a file or its folder, or may not be written to.
    """
    for name in _OUTPUTS:
        path = getattr(args, name, None)
        if isinstance(path, Path):
            there = next(one for one in (path, *path.absolute().parents) if one.exists())
            if there != path and not there.is_dir():
                raise InputError(f"--{name} {path}: {there} is a file, expected a folder")
            if not os.access(there, os.W_OK):
                raise InputError(f"--{name} {path}: {there} may not be written to")


def warn(text: str) -> None:
    """Print a warning."""
    print(f"kgagg: warning: {text}", file=sys.stderr)


def done(args: argparse.Namespace, what: str, where: Path | None = None) -> None:
    """Say in one line what was done, where it is, and how long the whole command took."""
    from kgagg.util.progress import span

    if not args.quiet:
        place = f" in {where}" if where else ""
        sys.stdout.flush()
        print(f"{what}{place} ({span(args.watch.total())})", file=sys.stderr)


def tell(args: argparse.Namespace, facts: Mapping[str, Any]) -> None:
    """Report how long a run took, and write its record, if requested.

    Parameters
    ----------
    args : Namespace
        Has ``watch``, there from the start, and the arguments of the call.
    facts : mapping
        Further contents of the record, JSON-compatible.
    """
    from kgagg import __version__
    from kgagg.util.timing import peak_memory

    if args.verbose:
        spans = ", ".join(f"{name} {value:.1f} s" for name, value in seconds(args).items())
        print(f"{spans}; {peak_memory():,.0f} MB", file=sys.stderr)
    if args.recorded and args.json:
        record = {
            **facts,
            "seconds": seconds(args),
            "peak_rss_mb": round(peak_memory(), 1),
            "settings": {name: value for name, value in vars(args).items() if name not in _UNTOLD},
            "version": __version__,
        }
        write_json(args.json, record)


# how a verb is found and reports is not a setting
_UNTOLD = (
    *("verb", "run", "call", "parser", "mine", "make", "watch", "recorded"),
    *("json", "quiet", "verbose"),
)


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON for people and programs, paths as text."""
    with writing(path) as file:
        json.dump(content, file, indent=2, ensure_ascii=False, default=str)
        file.write("\n")
