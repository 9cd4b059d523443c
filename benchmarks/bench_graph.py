"""Reading and indexing a graph, side by side with PyClause; and a graph of Wikidata5M's size.

    python benchmarks/bench_graph.py [--repeat 3] [--skip-large]

PyClause takes part if KGAGG_PYCLAUSE_PYTHON names a Python that can import it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import peers

KGAGG = """
from kgagg.graph.graph import Graph
folder = sys.argv[1]
if len(sys.argv) > 2:
    Graph.from_folder(sys.argv[2])  # loads the compiled kernels
start = time.perf_counter()
graph = Graph.from_folder(folder)
seconds = time.perf_counter() - start
report(seconds=seconds, triples=len(graph.train) + len(graph.valid) + len(graph.test))
"""

PYCLAUSE = """
from c_clause import Loader
from clause import Options
folder = sys.argv[1]
data, known, wanted = (f"{folder}/{split}.txt" for split in ("train", "valid", "test"))
loader = Loader(options=Options().get("loader"))
start = time.perf_counter()
loader.load_data(data=data, filter=known, target=wanted)
report(seconds=time.perf_counter() - start)
"""


def write_large(folder: Path, entities: int, relations: int, triples: int) -> None:
    """Write a random graph in which entities and relations are as uneven as in Wikidata."""
    random = np.random.default_rng(0)

    def digits(numbers: np.ndarray, letter: str, width: int) -> np.ndarray:
        text = np.empty((len(numbers), width + 1), np.uint8)
        text[:, 0] = ord(letter)
        for place in range(width, 0, -1):
            text[:, place] = 48 + numbers % 10
            numbers = numbers // 10
        return text

    with (folder / "train.txt").open("wb") as file:
        for start in range(0, triples, 1 << 20):
            count = min(1 << 20, triples - start)
            # uneven: the tails crowd on few entities, the triples on few relations
            head = random.integers(0, entities, count)
            tail = (entities * random.random(count) ** 4).astype(np.int64)
            relation = (relations * random.random(count) ** 3).astype(np.int64)
            tab, end = (np.full((count, 1), ord(c), np.uint8) for c in "\t\n")
            parts = (digits(head, "Q", 8), tab, digits(relation, "P", 4), tab, digits(tail, "Q", 8))
            file.write(np.concatenate((*parts, end), axis=1).tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description="Reading a graph, beside PyClause.")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--skip-large", action="store_true")
    args = parser.parse_args()
    data, _ = peers.inputs("fb15k-237")
    python = peers.pyclause()
    ours, theirs = [], []
    for _ in range(args.repeat):
        ours.append(peers.run(None, KGAGG, data, data))
        if python:
            theirs.append(peers.run(python, PYCLAUSE, data))
    for who, runs in (("kgagg", ours), ("PyClause", theirs)):
        for run in sorted(runs, key=lambda run: run["seconds"])[:1]:
            rate = ours[0]["triples"] / run["seconds"]
            print(
                f"fb15k-237  {who:<9} {run['seconds']:6.3f} s {rate:>12,.0f} triples/s, "
                f"peak {run['peak']:.0f} MB"
            )
    if theirs:
        ratio = min(r["seconds"] for r in theirs) / min(r["seconds"] for r in ours)
        print(f"kgagg reads {ratio:.1f} times as fast")
    if not args.skip_large:
        with tempfile.TemporaryDirectory() as folder:
            write_large(Path(folder), 4_600_000, 822, 20_000_000)
            run = peers.run(None, KGAGG, folder)
        print(
            f"4.6 M entities, 822 relations, 20 M triples: {run['seconds']:.1f} s, "
            f"{run['triples'] / run['seconds']:,.0f} triples/s, peak {run['peak']:.0f} MB"
        )


if __name__ == "__main__":
    main()
