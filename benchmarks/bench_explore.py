"""How fast `kgagg explore` answers: seconds until it is ready, and of requests, eight at a time.

    bench_explore.py DATA RULES [REQUESTS]

The requests, on the loopback alone and as many as given (200 by default), ask for candidates of
test triples and why the best of them are predicted. The memory is that of the server, beside that
of `kgagg rank` for the same triples.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

import kgagg

AT_ONCE = 8
KGAGG = [sys.executable, "-m", "kgagg"]


def main(data: str, rules: str, requests: int = 200) -> None:
    graph = kgagg.Graph.read(data)
    chosen = graph.test[np.random.default_rng(0).permutation(len(graph.test))[:requests]]
    triples = [
        {"head": graph.entities[h], "relation": graph.relations[r], "tail": graph.entities[t]}
        for h, r, t in chosen.tolist()
    ]
    start = time.perf_counter()
    call = [*KGAGG, "explore", data, rules, "--port", "0", "--no-browser", "--quiet"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2]
        fetch(address)
        print(f"ready after {time.perf_counter() - start:.1f} s")
        try:
            await_calibration(f"{address}ask?{urlencode(triples[0] | {'tail': ''})}")
            asked = [{k: v for k, v in one.items() if k != "tail"} for one in triples]
            for name, queries in (("ask", asked), ("why", triples)):
                report(name, [f"{address}{name}?{urlencode(one)}" for one in queries])
            status = Path(f"/proc/{server.pid}/status").read_text()
        finally:
            server.terminate()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    with tempfile.TemporaryDirectory() as folder:
        record, queries_file = Path(folder, "record.json"), Path(folder, "queries.txt")
        queries_file.write_text("".join("\t".join(one.values()) + "\n" for one in triples))
        call = [*KGAGG, "rank", data, rules, "--queries", str(queries_file), "--quiet"]
        out = ["--out", str(Path(folder, "out.tsv")), "--json", str(record)]
        subprocess.run([*call, *out], check=True)
        other = json.loads(record.read_text())["peak_rss_mb"]
    print(f"peak memory {peak:.0f} MB, kgagg rank {other:.0f} MB: {peak / other:.2f} times")


def await_calibration(address: str) -> None:
    """Ask until there are probabilities, which are learned in the background at first."""
    for _ in range(120):
        with urllib.request.urlopen(f"{address}&format=csv", timeout=60) as answer:
            if not answer.read().decode().splitlines()[1].endswith(","):
                return
        time.sleep(1)


def fetch(address: str) -> float:
    start = time.perf_counter()
    with urllib.request.urlopen(address, timeout=60) as answer:
        answer.read()
    return time.perf_counter() - start


def report(name: str, addresses: list[str]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        seconds = list(threads.map(fetch, addresses))
    half, most, last = np.percentile(seconds, [50, 95, 100]) * 1000
    print(
        f"{name}: {len(seconds)} requests, {AT_ONCE} at once: "
        f"median {half:.0f} ms, 95 % within {most:.0f} ms, slowest {last:.0f} ms"
    )


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
