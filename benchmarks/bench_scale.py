"""Five million rules on a graph of YAGO3-10's size: time and memory of a whole evaluation.

    python benchmarks/bench_scale.py [--rules 5000000] [--threads 2]

Graph and rules are made up: facts crowd on few entities as in YAGO3-10, and the rules have the
shapes, the proportions and the reach of AnyBURL's (their constants are taken from facts).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import peers

ENTITIES, RELATIONS, TRIPLES, TEST = 123_182, 37, 1_079_040, 5_000

EVALUATE = """
from kgagg.cli import main
folder, threads = sys.argv[1], sys.argv[2]
code = main(["evaluate", folder, f"{folder}/rules.txt", "--threads", threads, "--quiet",
             "--json", f"{folder}/result.json"])
assert code == 0
result = json.load(open(f"{folder}/result.json"))
report(seconds=result["seconds"], rules=result["rules"]["total"])
"""


def write_inputs(folder: Path, rules: int) -> None:
    """Write train.txt, valid.txt, test.txt and rules.txt."""
    random = np.random.default_rng(0)
    count = TRIPLES + 2 * TEST
    relation = (RELATIONS * random.random(count) ** 2).astype(np.int64)
    head = random.integers(0, ENTITIES, count)
    # the tails of a relation are of its own part of the entities, and crowd on few of them
    tail = (relation * 3001 + ENTITIES * random.random(count) ** 3).astype(np.int64) % ENTITIES
    lines = [f"e{h}\tr{r}\te{t}\n" for h, r, t in zip(head, relation, tail, strict=True)]
    bounds = (0, TRIPLES, TRIPLES + TEST, count)
    for split, a, b in zip(("train", "valid", "test"), bounds, bounds[1:], strict=False):
        (folder / f"{split}.txt").write_text("".join(lines[a:b]))
    with (folder / "rules.txt").open("w") as file:
        for _ in range(0, rules, 1 << 16):
            size = 1 << 16
            predicted = random.integers(2, 2000, size)
            correct = 2 + (random.random(size) * (predicted - 1)).astype(np.int64)
            one, other = random.integers(0, TRIPLES, (2, size))
            kind = random.random(size)
            first, second, last = random.integers(0, RELATIONS, (3, size))
            for i in range(size):
                a, b = one[i], other[i]
                text = f"{predicted[i]}\t{correct[i]}\t{correct[i] / predicted[i]}\t"
                if kind[i] < 0.02:
                    text += f"r{relation[a]}(X,Y) <= r{first[i]}(X,A), r{second[i]}(A,B), "
                    text += f"r{last[i]}(B,Y)"
                elif kind[i] < 0.69:
                    text += f"r{relation[a]}(X,e{tail[a]}) <= r{relation[b]}(X,e{tail[b]})"
                else:
                    text += f"r{relation[a]}(X,e{tail[a]}) <= r{first[i]}(X,A)"
                file.write(text + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Five million rules on a graph of YAGO's size.")
    parser.add_argument("--rules", type=int, default=5_000_000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_inputs(Path(name), args.rules)
        run = peers.run(None, EVALUATE, name, args.threads)
    times = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in run["seconds"].items())
    print(f"{run['rules']:,} rules, {TRIPLES:,} triples, {TEST:,} test triples")
    print(f"seconds: {times}; peak {run['peak']:,.0f} MB")


if __name__ == "__main__":
    main()
