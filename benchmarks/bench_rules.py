"""Rule text to columns, side by side with PyClause's loader.

    python benchmarks/bench_rules.py DATA RULES [--threads 2] [--repeat 3]

Each loader runs in a process of its own that has read the graph before the clock starts. PyClause
takes part if KGAGG_PYCLAUSE_PYTHON names a Python that can import it. The best of the repetitions
counts for time, the greatest peak for memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

KGAGG = """
import json, resource, sys, tempfile, time
from kgagg.graph import Graph
from kgagg.rules import Confidence, RuleSet
folder, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
graph = Graph.from_folder(folder)
names = graph.entities, graph.relations
with tempfile.NamedTemporaryFile("w") as small:
    # loads the compiled kernels
    small.write("2\\t2\\t1.0\\th(X,Y) <= h(X,Y)\\n")
    small.flush()
    RuleSet.read(small.name, names)
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 1024
start = time.perf_counter()
rules = RuleSet.read(path, names, Confidence.preset("anyburl"), threads=threads)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""

PYCLAUSE = """
import json, resource, sys, time
from c_clause import Loader
from clause import Options
folder, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = Options()
options.set("loader.num_threads", threads)
loader = Loader(options=options.get("loader"))
data, known, wanted = (f"{folder}/{split}.txt" for split in ("train", "valid", "test"))
loader.load_data(data=data, filter=known, target=wanted)
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 1024
start = time.perf_counter()
loader.load_rules(rules=path)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rules = loader.rule_index()
"""

RESULT = """
print(json.dumps({"rules": len(rules), "seconds": seconds, "peak": peak, "growth": peak - before}))
"""


def measure(python: str, program: str, args: argparse.Namespace) -> dict[str, float]:
    runs = []
    for _ in range(args.repeat):
        call = [python, "-c", program + RESULT, args.data, args.rules, str(args.threads)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{python} failed:\n{done.stderr}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    best = min(runs, key=lambda run: run["seconds"])
    return best | {name: max(run[name] for run in runs) for name in ("peak", "growth")}


def main() -> None:
    parser = argparse.ArgumentParser(description="Rule text to columns, beside PyClause's loader.")
    parser.add_argument("data", help="folder with train.txt, valid.txt, test.txt")
    parser.add_argument("rules", help="rule file, plain text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    results = {"kgagg": measure(sys.executable, KGAGG, args)}
    if python := os.environ.get("KGAGG_PYCLAUSE_PYTHON"):
        results["PyClause"] = measure(python, PYCLAUSE, args)
    else:
        print("PyClause: KGAGG_PYCLAUSE_PYTHON is not set")
    megabytes = Path(args.rules).stat().st_size / 1e6
    print(f"{args.rules}: {megabytes:.0f} MB, {args.threads} threads")
    for name, run in results.items():
        print(
            f"{name:<8} {run['rules']:>10,} rules {run['seconds']:8.2f} s "
            f"{run['rules'] / run['seconds']:>12,.0f} rules/s   peak {run['peak'] / 1024:6.0f} MB, "
            f"of which rules {run['growth'] / 1024:6.0f} MB"
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
