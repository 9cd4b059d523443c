"""Measure `learned`: against others, without each family of features, by seed, by size of valid.

Prints Markdown tables. Everything is fitted on valid; test is only reported. Seconds are of the
processor; memory is the peak so far. Example:

    python benchmarks/bench_learned.py data/wnrr rules.txt --families --seeds 5 --parts 4
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import time
from collections.abc import Iterator, Sequence

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.evaluation.metrics import evaluate
from kgagg.evaluation.significance import compare
from kgagg.graph.known import known_before
from kgagg.prediction.calibration import Calibration, Reliability, answered
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.targets import target_rows
from kgagg.strategies.base import Strategy
from kgagg.strategies.features import FAMILIES
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.learned import Learned
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import rank_split

COMPARED = ("noisy-or-top-h*", "factors", "learned")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("rules")
    parser.add_argument("--families", action="store_true", help="leave out each family of features")
    parser.add_argument("--seeds", type=int, default=0, help="how many seeds")
    parser.add_argument("--parts", type=int, default=0, help="1/n, 2/n, ... of valid")
    parser.add_argument("--threads", type=int, default=None)
    args = parser.parse_args()
    engine = Engine.open(args.data, args.rules)
    print(f"{args.data}, {len(engine.rules):,} rules, coverage {coverage(engine):.4f}\n")
    print("| | MRR, folds of valid | MRR | hits@10 | fit s | score s | GB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    main_rows = []
    for name, one, where, seed in rows(engine, args):
        begin = time.process_time()
        fitted = one.fit(Fitting(where, seed=seed, threads=args.threads))
        middle = time.process_time()
        ranks = rank_split(engine, "test", [fitted], threads=args.threads)
        end = time.process_time()
        found = evaluate(ranks).set_index("metric")["value"]
        report = fitted.report or {}
        chosen = report["used"] if "mrr" in report else ""
        folds = f"{report['mrr'][chosen]:.4f}" if chosen else ""
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"| {name}{'' if chosen in ('', 'learned') else f' ({chosen})'} | {folds} "
            f"| {found['mrr']:.4f} | {found['hits@10']:.4f} "
            f"| {middle - begin:.0f} | {end - middle:.0f} | {memory:.1f} |",
            flush=True,
        )
        if len(main_rows) < len(COMPARED):
            main_rows.append(ranks)
            last = fitted
            if len(main_rows) == len(COMPARED):
                print(f"\n{tests(main_rows)}\n", flush=True)
    print(f"\nexpected calibration error of learned on test {calibration_error(engine, last):.4f}")


def tests(ranks: Sequence[Ranks]) -> str:
    """Return paired tests of learned against the others, over triples of test."""
    joined = dataclasses.replace(
        ranks[0],
        strategies=tuple(one.strategies[0] for one in ranks),
        optimistic=np.concatenate([one.optimistic for one in ranks]),
        pessimistic=np.concatenate([one.pessimistic for one in ranks]),
    )
    pairs = [("learned", name) for name in COMPARED[:-1]]
    found = compare(joined, pairs=pairs).to_dict("records")
    return "\n".join(
        f"learned - {row['second']}: {row['difference']:+.4f} "
        f"[{row['low']:+.4f}, {row['high']:+.4f}], p = {row['p']:.4f}"
        for row in found
    )


def rows(engine: Engine, args: argparse.Namespace) -> Iterator[tuple[str, Strategy, Engine, int]]:
    """Yield what is measured: a name, the strategy, with what it is fitted, and the seed."""
    for name in COMPARED:
        yield name, strategy(name), engine, 0
    if args.families:
        for family in FAMILIES:
            yield f"without {family}", Learned(without=[family]), engine, 0
    for seed in range(1, args.seeds):
        yield f"seed {seed}", Learned(), engine, seed
    order = np.random.default_rng(0).permutation(len(engine.graph.valid))
    for part in range(1, args.parts):
        kept = np.sort(order[: len(order) * part // args.parts])
        graph = dataclasses.replace(engine.graph, valid=engine.graph.valid[kept])
        smaller = Engine(graph, engine.rules, engine.semantics)
        yield f"{len(kept):,} triples of valid", Learned(), smaller, 0


def coverage(engine: Engine) -> float:
    """Return the share of test's targets that are among the candidates: no MRR is higher."""
    queries = Queries.from_triples(engine.graph.test)
    chunks = engine.apply(queries, known_before(engine.graph, "test"), best=1)
    return float(np.concatenate([target_rows(firings) >= 0 for firings in chunks]).mean())


def calibration_error(engine: Engine, fitted: Strategy) -> float:
    """Return the expected calibration error on test, calibrated on valid."""
    calibration = Calibration.fit(answered(engine, fitted, "valid"))
    counts = answered(engine, fitted, "test")
    return Reliability.of("test", calibration(counts.score), counts).error


if __name__ == "__main__":
    main()
