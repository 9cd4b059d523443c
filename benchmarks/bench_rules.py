"""Rule text to columns, side by side with PyClause's loader.

    python benchmarks/bench_rules.py [DATA RULES] [--threads 2] [--repeat 3]

Each loader runs in a process of its own that has read the graph before the clock starts. PyClause
takes part if KGAGG_PYCLAUSE_PYTHON names a Python that can import it. The best of the repetitions
counts for time, the greatest peak for memory.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import peers

KGAGG = """
import tempfile
from kgagg.graph.graph import Graph
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
folder, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
graph = Graph.from_folder(folder)
names = graph.entities, graph.relations
with tempfile.NamedTemporaryFile("w") as small:
    # loads the compiled kernels
    small.write("2\\t2\\t1.0\\th(X,Y) <= h(X,Y)\\n")
    small.flush()
    RuleSet.read(small.name, names)
before = resident()
start = time.perf_counter()
rules = RuleSet.read(path, names, Confidence.preset("anyburl"), threads=threads)
seconds = time.perf_counter() - start
report(rules=len(rules), seconds=seconds, before=before)
"""

PYCLAUSE = """
from c_clause import Loader
from clause import Options
folder, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = Options()
options.set("loader.num_threads", threads)
loader = Loader(options=options.get("loader"))
data, known, wanted = (f"{folder}/{split}.txt" for split in ("train", "valid", "test"))
loader.load_data(data=data, filter=known, target=wanted)
before = resident()
start = time.perf_counter()
loader.load_rules(rules=path)
seconds = time.perf_counter() - start
report(rules=len(loader.rule_index()), seconds=seconds, before=before)
"""


def measure(python: str | None, program: str, args: argparse.Namespace) -> dict[str, float]:
    runs = [
        peers.run(python, program, args.data, args.rules, args.threads) for _ in range(args.repeat)
    ]
    best = min(runs, key=lambda run: run["seconds"])
    peak = max(run["peak"] for run in runs)
    return best | {"peak": peak, "growth": peak - best["before"]}


def main() -> None:
    parser = argparse.ArgumentParser(description="Rule text to columns, beside PyClause's loader.")
    parser.add_argument("data", nargs="?", help="folder (fb15k-237 by default)")
    parser.add_argument("rules", nargs="?", help="rule file, plain text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    if not args.rules:
        args.data, args.rules = peers.inputs("fb15k-237")
    results = {"kgagg": measure(None, KGAGG, args)}
    if python := peers.pyclause():
        results["PyClause"] = measure(python, PYCLAUSE, args)
    megabytes = Path(args.rules).stat().st_size / 1e6
    print(f"{args.rules}: {megabytes:.0f} MB, {args.threads} threads")
    for name, run in results.items():
        print(
            f"{name:<8} {run['rules']:>10,} rules {run['seconds']:8.2f} s "
            f"{run['rules'] / run['seconds']:>12,.0f} rules/s   peak {run['peak']:6.0f} MB, "
            f"of which rules {run['growth']:6.0f} MB"
        )
    if "PyClause" in results:
        ours, theirs = results["kgagg"], results["PyClause"]
        print(
            f"kgagg is {theirs['seconds'] / ours['seconds']:.1f} times as fast, with "
            f"{ours['peak'] / theirs['peak']:.2f} of the peak memory "
            f"and {ours['growth'] / theirs['growth']:.2f} of the growth"
        )


if __name__ == "__main__":
    main()
