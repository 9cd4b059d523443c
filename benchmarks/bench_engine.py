"""Rules applied to the test split, side by side with PyClause.

    python benchmarks/bench_engine.py [DATA RULES] [--threads 2] [--repeat 2]

kgagg computes max, max+, noisy-or and noisy-or-top-1 to -10 together, PyClause noisy-or top-5 and
max+ one at a time (topk 200), in alternation, each in a process of its own. Data and rules are
loaded before the clock starts, and kernels are compiled (`bench_start.py` tells how long that
takes). PyClause takes part if KGAGG_PYCLAUSE_PYTHON names a Python that can import it. The best of
the repetitions counts.
"""

from __future__ import annotations

import argparse

import peers

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
    runs: dict[str, list[dict[str, float]]] = {}
    for _ in range(repeat):
        runs.setdefault("kgagg, 13 strategies", []).append(
            peers.run(None, KGAGG, data, rules, threads)
        )
        runs.setdefault("kgagg, one thread", []).append(peers.run(None, KGAGG, data, rules, 1))
        if python:
            for kind in ("noisy-or-top-5", "max+"):
                runs.setdefault(f"PyClause, {kind}", []).append(
                    peers.run(python, PYCLAUSE, data, rules, threads, kind)
                )
    print(f"{name}, {threads} threads")
    best = {who: min(one, key=lambda run: run["seconds"]) for who, one in runs.items()}
    for who, run in best.items():
        print(
            f"  {who:<25} {run['seconds']:8.2f} s ({run['cpu']:.1f} s of processors), peak "
            f"{run['peak']:6.0f} MB, load {run['load']:.1f} s, MRR {run['mrr']}"
        )
    ours = best["kgagg, 13 strategies"]
    print(
        f"  kgagg besides: index {ours['index']:.2f} s; one thread takes "
        f"{best['kgagg, one thread']['seconds'] / ours['seconds']:.2f} times as long"
    )
    for who, run in best.items():
        if who.startswith("PyClause"):
            print(
                f"  {who} takes {run['seconds'] / ours['seconds']:.1f} times as long, and "
                f"{run['cpu'] / ours['cpu']:.1f} times the processors' time"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Rules applied, beside PyClause.")
    parser.add_argument("data", nargs="?", help="folder (wnrr, then fb15k-237, by default)")
    parser.add_argument("rules", nargs="?", help="rule file, plain text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    if args.rules:
        compare(args.data, args.data, args.rules, args.threads, args.repeat)
        return
    for name in [args.data] if args.data else ["wnrr", "fb15k-237"]:
        compare(name, *peers.inputs(name), args.threads, args.repeat)


if __name__ == "__main__":
    main()
