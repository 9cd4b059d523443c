"""Rules applied to the test split, side by side with PyClause.

    python benchmarks/bench_engine.py [DATA RULES] [--threads 2] [--repeat 5]

kgagg computes max, max+, noisy-or and noisy-or-top-1 to -10 together, PyClause noisy-or top-5 and
max+ one at a time (topk 200), in alternation, each in a process of its own. Data and rules are
loaded before the clock starts, and kernels are compiled (`bench_start.py` tells how long that
takes). PyClause takes part if KGAGG_PYCLAUSE_PYTHON names a Python that can import it. Every run is
printed, and the median of how much longer it took than kgagg's run in the same round.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import peers

OURS = "kgagg, 13 strategies"

KGAGG = """
import dataclasses
from kgagg.strategies.scoring import rank_split
from kgagg.strategies.registry import strategy
from kgagg.engine.engine import Engine
from kgagg.evaluation.metrics import evaluate
from kgagg.graph.graph import Graph
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
folder, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = time.perf_counter()
graph = Graph.from_folder(folder)
rules = RuleSet.read(path, (graph.entities, graph.relations), Confidence.preset("anyburl"))
load = time.perf_counter() - start
names = ["max", "max+", "noisy-or", *(f"noisy-or-top-{h}" for h in range(1, 11))]
strategies = [strategy(name) for name in names]
start = time.perf_counter()
engine = Engine(graph, rules)
index = time.perf_counter() - start
few = dataclasses.replace(graph, test=graph.test[:1])
rank_split(Engine(few, rules), "test", strategies, threads=1)
start, cpu = time.perf_counter(), time.process_time()
ranks = rank_split(engine, "test", strategies, threads=threads)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
table = evaluate(ranks)
mrr = dict(table[table.metric == "mrr"][["strategy", "value"]].itertuples(index=False))
report(load=load, index=index, seconds=seconds, cpu=cpu,
       mrr={name: mrr[name] for name in ("max+", "noisy-or-top-5")})
"""

PYCLAUSE = """
from c_clause import Loader, RankingHandler
from clause import Options, Ranking, TripleSet
folder, path, threads, kind = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
data, known, wanted = (f"{folder}/{split}.txt" for split in ("train", "valid", "test"))
options = Options()
options.set("loader.num_threads", threads)
start = time.perf_counter()
loader = Loader(options=options.get("loader"))
loader.load_data(data=data, filter=known, target=wanted)
loader.load_rules(rules=path)
load = time.perf_counter() - start
settings = dict(num_threads=threads, verbose=False, topk=200, disc_at_least=-1,
                tie_handling="random", aggregation_function="maxplus", num_top_rules=-1)
if kind == "noisy-or-top-5":
    settings |= dict(aggregation_function="noisyor", num_top_rules=5)
for name, value in settings.items():
    options.set(f"ranking_handler.{name}", value)
handler = RankingHandler(options=options.get("ranking_handler"))
start, cpu = time.perf_counter(), time.process_time()
handler.calculate_ranking(loader=loader)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
triples, ranking = TripleSet(wanted), Ranking(k=200)
lists = [handler.get_ranking(direction=way, as_string=True) for way in ("head", "tail")]
ranking.convert_handler_ranking(*lists, triples)
ranking.compute_scores(triples.triples)
report(load=load, seconds=seconds, cpu=cpu, mrr={kind: ranking.hits.get_mrr()})
"""


def compare(name: str, data: object, rules: object, threads: int, repeat: int) -> None:
    python = peers.pyclause()
    calls: dict[str, tuple[object, ...]] = {OURS: (None, KGAGG, data, rules, threads)}
    calls["kgagg, one thread"] = (None, KGAGG, data, rules, 1)
    if python:
        for kind in ("noisy-or-top-5", "max+"):
            calls[f"PyClause, {kind}"] = (python, PYCLAUSE, data, rules, threads, kind)
    runs: dict[str, list[dict[str, Any]]] = {who: [] for who in calls}
    for _ in range(repeat):
        for who, call in calls.items():
            runs[who].append(peers.run(*call))
    print(f"{name}, {threads} threads, {repeat} runs of each in alternation")
    for who, one in runs.items():
        every = " ".join(f"{run['seconds']:.2f}" for run in one)
        ratios = [
            run["seconds"] / ours["seconds"] for run, ours in zip(one, runs[OURS], strict=True)
        ]
        print(f"  {who:<25} {every} s: {median(ratios):.1f} times as long (median of pairs)")
        print(
            f"  {'':<25} processors {median(run['cpu'] for run in one):.1f} s, peak "
            f"{one[0]['peak']:.0f} MB, load {one[0]['load']:.1f} s, MRR {one[0]['mrr']}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Rules applied, beside PyClause.")
    parser.add_argument("data", nargs="?", help="folder (wnrr, then fb15k-237, by default)")
    parser.add_argument("rules", nargs="?", help="rule file, plain text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    if args.rules:
        compare(args.data, args.data, args.rules, args.threads, args.repeat)
        return
    for name in [args.data] if args.data else ["wnrr", "fb15k-237"]:
        compare(name, *peers.inputs(name), args.threads, args.repeat)


if __name__ == "__main__":
    main()
