"""How long it takes until something happens: help, a first run that compiles, a run after it.

    python benchmarks/bench_start.py [DATA RULES]

Each is a process of its own, from start to end; the first run of `kgagg evaluate` finds an empty
cache. By default the data and rules are the demonstration's, so that applying them takes no time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def timed(cache: Path, *arguments: str) -> tuple[float, float]:
    """Return the seconds that a call of kgagg takes, and those of the processors."""
    call = [sys.executable, "-c", "import sys; from kgagg.cli import main; sys.exit(main())"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "KGAGG_CACHE": str(cache)}
    subprocess.run([*call, *arguments], env=environment, check=True, capture_output=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, spent


def main() -> None:
    parser = argparse.ArgumentParser(description="How long it takes to start.")
    parser.add_argument("data", nargs="?", default="nations", help="folder or registered dataset")
    parser.add_argument("rules", nargs="?", help="rule file (mined if there is none)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = args.rules or str(folder / "rules.txt")
        if not args.rules:
            few = ("--max-length-cyclic", "1", "--min-support", "50")
            timed(folder / "mined", "mine", "native", args.data, "--out", rules, *few)
        record = folder / "evaluated.json"
        evaluate = ("evaluate", args.data, rules, "--json", str(record))
        timed(folder, "--help")
        for what, call in (
            ("kgagg --help", ("--help",)),
            ("kgagg evaluate, first run", evaluate),
            ("kgagg evaluate, second run", evaluate),
        ):
            seconds, spent = timed(folder, *call)
            print(f"{what:<27} {seconds:6.2f} s ({spent:.2f} s of processors)", end="")
            if call is evaluate:
                stages = json.loads(record.read_text())["seconds"]
                applied = sum(stages[stage] for stage in ("apply", "aggregate", "fit"))
                print(f", compiling {stages['compile']:.2f} s", end="")
                print(f", all but applying {seconds - applied:.2f} s", end="")
            print()


if __name__ == "__main__":
    main()
