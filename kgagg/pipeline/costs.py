"""What the workflow costs: a measured model behind the resources of jobs and the plan.

Measured on two cores of 2.x GHz: a split of FB15k-237 has 40 thousand queries, which take 14 s of
the processor with 8.4 million native rules and 9 s with 1.3 million of AnyBURL; mining takes 74 s,
the strategies that are fitted 8 to 198 s each. A model, not a promise: times are rounded up, and a
job that is retried requests more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kgagg.data.registry import registry
from kgagg.pipeline.configuration import places, source
from kgagg.util.text import markdown

# rules for each triple of train, the most that was seen
RULES_PER_TRIPLE = {"anyburl": 40, "amie": 4, "native": 40, "": 40}
# a dataset of which nothing is known yet
UNKNOWN = {"train": 300_000, "valid": 20_000, "test": 20_000}
# a process that starts, imports and reads its kernels from the cache
START, BASE = 3.0, 400


@dataclass(frozen=True)
class Cost:
    """Of one job.

    Attributes
    ----------
    seconds : float
        Of all cores together, but for mining, which takes a given time however many there are.
    memory : int
        In MB.
    """

    seconds: float
    memory: int

    @property
    def minutes(self) -> int:
        """What to request from a scheduler: five times the estimate, and at least ten minutes."""
        return max(10, math.ceil(5 * self.seconds / 60))


def cost(
    config: Mapping[str, Any], stage: str, rules: str | None = None, dataset: str | None = None
) -> Cost:
    """Estimate one job of a stage, for a rule set on a dataset if it is for one."""
    if dataset is None:
        names = places(config)
        many = len(names) * len(config["rules"])
        largest = max(_size(name)["train"] for name in names)
        return Cost(START + 2 * many, BASE + largest // 1000)
    size = _size(dataset)
    if rules is None:
        return Cost(START + size["train"] / 50_000, BASE + size["train"] // 1000)
    found = source(config, rules, dataset)
    count = RULES_PER_TRIPLE[found.miner] * size["train"]
    queries = 2 * max(size["valid"], size["test"])
    applied = 2e-4 * queries + 2e-11 * queries * count
    memory = BASE + (200 * count + 200 * size["train"]) // 1_000_000
    threads = config["threads"]["apply"]
    match stage:
        case "mine":
            return Cost(
                _mining(found.miner, found.options or {}, size["train"]), _heap(size["train"])
            )
        case "rules":
            return Cost(START + count / 400_000, memory)
        case "apply":
            # each thread has working space of its own
            return Cost(START + count / 1e6 + applied / config["chunks"], memory + 60 * threads)
        case "fit":
            # learning goes over the firings of valid several times
            return Cost(START + 8 * applied, 3 * memory + queries // 10)
        case "time":
            turns = (config["repeats"] + 2) * (len(config["strategies"]) + 2)
            # few strategies need every firing
            return Cost(START + turns * applied / 3, memory + 60 * threads)
        case _:
            return Cost(START + queries / 10_000, memory + queries // 100)


def _mining(miner: str, options: Mapping[str, Any], train: int) -> float:
    """Return the seconds that a miner takes."""
    if miner == "anyburl":
        return float(options.get("seconds", 1000)) * 1.2 + 60
    # AMIE took 6 minutes for the 87 thousand triples of WNRR with the paper's options
    return train / 250 if miner == "amie" else START + train / 4_000


def _heap(train: int) -> int:
    """Return the memory of a miner in MB."""
    return 2_000 + train // 20


@cache
def _size(dataset: str) -> Mapping[str, int]:
    """Return the number of triples of each split, as far as it is known without fetching."""
    entry = registry().get(dataset)
    if entry is None:
        return UNKNOWN
    if entry.paper:
        return entry.paper
    files = {split: entry.folder / f"{split}.txt" for split in UNKNOWN}
    if not all(file.exists() for file in files.values()):
        return UNKNOWN
    return {split: file.read_bytes().count(b"\n") for split, file in files.items()}


def plan(config: Mapping[str, Any], rules: list[str], fitted: list[str], cores: int) -> str:
    """Return the table of predicted costs by stage.

    Parameters
    ----------
    config : mapping
        The configuration of the workflow.
    rules : list of str
        The rule sets that are used.
    fitted : list of str
        The strategies that are fitted.
    cores : int
        How many cores there are.
    """
    pairs = [(one, dataset) for one in rules for dataset in config["datasets"]]
    ranked = len(config["strategies"]) + 2
    jobs: dict[str, list[tuple[int, Cost]]] = {
        "fetch": [(1, cost(config, "fetch", None, name)) for name in config["datasets"]],
        "mine": [(1, cost(config, "mine", *pair)) for pair in pairs if source(config, *pair).miner],
        "rules": [(1, cost(config, "rules", *pair)) for pair in pairs],
        "apply": [(2 * config["chunks"], cost(config, "apply", *pair)) for pair in pairs],
        "fit": [(len(fitted), cost(config, "fit", *pair)) for pair in pairs],
        "aggregate": [(ranked, cost(config, "aggregate", *pair)) for pair in pairs],
        "time": [(1, cost(config, "time", *pair)) for pair in pairs],
        "report": [(4, cost(config, "report"))],
    }
    rows: list[list[str | int]] = []
    total = 0.0
    for stage, found in jobs.items():
        work = sum(count * one.seconds for count, one in found)
        # a miner has its time, however many cores it gets; the others share the cores
        elapsed = work if stage == "mine" else work / cores
        total += elapsed
        memory = max((one.memory for _, one in found), default=0)
        number = sum(count for count, _ in found)
        rows.append([stage, number, f"{elapsed / 60:.1f}", f"{memory / 1000:.1f}"])
    rows.append(["all", sum(int(row[1]) for row in rows), f"{total / 60:.1f}", ""])
    title = f"Predicted cost on {cores} cores (memory: of the largest job)"
    return f"{title}\n{markdown(['stage', 'jobs', 'minutes', 'GB'], rows)}"
