"""The experiment of a configuration: which files there are, and what makes each of them.

The Snakefile learns all that it needs from one object. Paths begin with Snakemake's path variables
(``<results>``), and have its wildcards (``{dataset}``, ``{rules}``, ``{split}``, ``{label}``).
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kgagg.data.datasets import fetch
from kgagg.data.download import digest_of, obtain
from kgagg.data.registry import find
from kgagg.data.triples import split_file
from kgagg.errors import InputError, Unavailable
from kgagg.mining.jars import JARS
from kgagg.pipeline.configuration import Config, Source, check, places, source, typed, usable
from kgagg.pipeline.costs import Cost, cost, plan
from kgagg.strategies.base import Strategy
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import best_rules
from kgagg.util.files import COMPRESSIONS
from kgagg.util.source import code_digest

TABLES = ("results", "comparison", "tests", "datasets", "rules", "runtimes", "claims")
FORMS = ("md", "tex", "csv", "html")
# of one strategy on one split
RANKS = "<results>/ranks/{dataset}/{rules}/test/{label}.parquet"
MODEL = "<results>/models/{dataset}/{rules}/{label}.kgagg"
FIT_RECORD = "<results>/times/{dataset}/{rules}/{label}.json"
RULE_SET = "<results>/rules/{dataset}/{rules}.kgagg"
MINED = "<results>/rules/{dataset}/{rules}.rules.zst"
RESULT = "<results>/results/{dataset}/{rules}.json"
TIMES = "<results>/times/{dataset}/{rules}.json"
FIRINGS = "<results>/firings/{dataset}/{rules}/{split}.parquet"
CURVE = "<results>/ranks/{dataset}/{rules}/curve/{split}.parquet"
STATISTICS = "<results>/statistics.json"


class Experiment:
    """What the Snakefile needs to know.

    Parameters
    ----------
    config : mapping
        The configuration, as Snakemake gives it.
    base : path
        The folder of the Snakefile.

    Attributes
    ----------
    config : dict
        With numbers for what looks like numbers (see `typed`).
    datasets, rules : list of str
        What is run: each rule set on each dataset.
    places : dict of str to str
        The name of each registered dataset, or where it is on this machine.
    strategies : dict of str to Strategy
        By label, which is the name without a star.
    fitted : list of str
        The labels of those that need a fit.
    shell_prefix : str
        What jobs begin with: errors end them, and `kgagg` is that of the Python that runs the
        workflow, whether its environment is active or not.

    Raises
    ------
    InputError
        If the configuration is wrong, in one line.
    """

    splits = ("valid", "test")
    shell_prefix = (
        f"set -euo pipefail; PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    )

    def __init__(self, config: Config, base: str | os.PathLike[str]) -> None:
        # from here, so that neither records nor what is planned again depend on where "here" is
        self.base = Path(os.path.relpath(base))
        self.config: dict[str, Any] = typed(config)
        check(self.config, self.base / "workflow" / "schemas" / "config.schema.yaml")
        self.places = places(self.config)
        self.datasets = list(self.places)
        self.rules = usable(self.config)
        self.strategies: dict[str, Strategy] = {
            name.replace("*", "-star"): strategy(name) for name in self.config["strategies"]
        }
        self.fitted = [label for label, one in self.strategies.items() if one.needs]
        self._sources = {
            (rules, dataset): source(self.config, rules, dataset)
            for rules in self.rules
            for dataset in self.datasets
        }
        self.jars = sorted({found.jar for found in self._sources.values()} - {""})

    # --- files ---------------------------------------------------------------------------------

    def pairs(self, *patterns: str, **values: list[str]) -> list[str]:
        """Return files of all rule sets on all datasets, and of all `values` of other wildcards."""
        every = {"dataset": self.datasets, "rules": self.rules, **values}
        rows = [dict(zip(every, row, strict=True)) for row in itertools.product(*every.values())]
        return list(dict.fromkeys(pattern.format(**row) for pattern in patterns for row in rows))

    def each(self, pattern: str, labels: list[str] | None = None) -> list[str]:
        """Return a file of each strategy, or of some, with the other wildcards left."""
        names = list(self.strategies) if labels is None else labels
        return [pattern.replace("{label}", name) for name in names]

    def data(self, split: str) -> list[str]:
        """Return the data that a job on a split may see: before test, there is no test."""
        if split == "test":
            return [f"<results>/data/{{dataset}}/{part}.txt" for part in ("train", *self.splits)]
        return [f"<results>/tuning/{{dataset}}/{part}.txt" for part in ("train", "valid")]

    @property
    def all_data(self) -> list[str]:
        """All splits of all datasets."""
        return [path.format(dataset=name) for name in self.datasets for path in self.data("test")]

    @property
    def fetched(self) -> list[str]:
        """Everything that comes from elsewhere: data, jars, pinned rules."""
        jars = [f"<results>/jars/{jar}.jar" for jar in self.jars]
        return [*self.all_data, *jars, *self._pinned()]

    def content(self, dataset: str) -> str:
        """Return a digest of the content of a dataset."""
        place = self.places[dataset]
        if place == dataset:
            return find(dataset).key
        files = (split_file(Path(place), split) for split in ("train", *self.splits))
        return " ".join(digest_of(file, "sha256")[:16] for file in files if file)

    def unreachable(self, results: str) -> list[str]:
        """Bring what has to be fetched to the cache; return the names of what cannot be had.

        Parameters
        ----------
        results : str
            The folder of the run; what is there already is not fetched again.
        """
        mirror = Path(self.config["mirror"]) if self.config["mirror"] else None
        options: dict[str, Any] = {"mirror": mirror, "offline": self.config["offline"]}
        missing = []
        for name, place in self.places.items():
            if place == name and not (Path(results) / "data" / name / "train.txt").exists():
                try:
                    fetch(find(name), quiet=True, **options)
                except (Unavailable, InputError):
                    missing.append(name)
        for jar in self.jars:
            if jar in JARS and not (Path(results) / "jars" / f"{jar}.jar").exists():
                try:
                    obtain(JARS[jar].artifact, quiet=True, **options)
                except (Unavailable, InputError):
                    missing.append(f"{jar}.jar")
        return missing

    @property
    def run(self) -> dict[str, Any]:
        """What tables, page and claims are made from."""
        return {
            "results": self.pairs(RESULT),
            "times": self.pairs(TIMES),
            "statistics": STATISTICS,
            "claims": self.claims,
        }

    @property
    def tables(self) -> list[str]:
        """All tables in all formats."""
        return [f"<results>/tables/{name}.{form}" for name in TABLES for form in FORMS]

    def plots(self, *forms: str) -> list[str]:
        """Return all plots in these formats."""
        names = ["curve", "tradeoff", "chosen", "rules", "gain"]
        names += ["learning"] if {"factors", "sparse"} & set(self.fitted) else []
        names += ["trees"] if "learned" in self.fitted else []
        names += ["thresholds"] if "safran" in self.fitted else []
        return [f"<results>/plots/{name}.{form}" for name in names for form in forms]

    @property
    def recorded(self) -> list[str]:
        """The files of the manifest: all but firings, which are large and quickly made again."""
        mined = [
            MINED.format(rules=rules, dataset=dataset) + ending
            for (rules, dataset), found in self._sources.items()
            if found.kind == "mined"
            for ending in ("", ".json")
        ]
        return [
            *self.all_data,
            *mined,
            *self._pinned(),
            *self.pairs(RULE_SET),
            *self.pairs(*self.each(RANKS), *self.each(MODEL, self.fitted)),
            *self.run["results"],
            *self.run["times"],
            STATISTICS,
            *self.tables,
            *self.plots("svg", "png"),
        ]

    @property
    def claims(self) -> Path:
        """The file of claims: from here, else from beside the Snakefile."""
        path = Path(self.config["claims"])
        return path if path.exists() else self.base / path

    @property
    def manifest(self) -> Path:
        """Where the manifest is written."""
        return Path(self.config["results"], "manifest.json")

    @property
    def reference(self) -> list[str]:
        """The manifest of the run to reproduce, as `kgagg report verify` takes it."""
        path = self.config["reference"]
        found = [one for one in (Path(path), self.base / path) if path and one.exists()]
        return ["--reference", str(found[0])] if found else []

    @property
    def lock(self) -> Path:
        """The locked packages."""
        return self.base / "envs" / "requirements.lock"

    @property
    def snakefile(self) -> Path:
        """The workflow."""
        return self.base / "Snakefile"

    @property
    def template(self) -> Path:
        """The frame of the report's page."""
        return self.base / "kgagg" / "report" / "page.html"

    # --- what a job takes, by its wildcards ----------------------------------------------------

    def source(self, wildcards: Any) -> Source:
        """Return where the rules of a rule set for a dataset come from."""
        return self._sources[wildcards.rules, wildcards.dataset]

    def rule_file(self, wildcards: Any) -> str:
        """Return the file of the rules: mined, pinned or the user's own."""
        found = self.source(wildcards)
        match found.kind:
            case "mined":
                return MINED
            case "pinned":
                return self._pinned_file(wildcards.rules, wildcards.dataset)
        return found.file

    def jar(self, wildcards: Any) -> str | list[str]:
        """Return the jar that mines, if one does."""
        jar = self.source(wildcards).jar
        return f"<results>/jars/{jar}.jar" if jar else []

    def mining_options(self, wildcards: Any, input: Any) -> list[str]:
        """Return the options of the miner, the jar as a file."""
        found = self.source(wildcards)
        options = {name: one for name, one in (found.options or {}).items() if name != "jar"}
        words = dataclasses.replace(found, options=options).arguments
        return [*words, "--jar", input.jar] if input.jar else words

    def model(self, wildcards: Any) -> str | list[str]:
        """Return the file of a strategy that is fitted."""
        return MODEL if wildcards.label in self.fitted else []

    def top_h(self, wildcards: Any) -> str:
        """Return the values from which h is chosen, as `kgagg` takes them."""
        return ",".join(str(h) if h else "all" for h in self._heights(wildcards))

    def best_rules(self, wildcards: Any) -> int:
        """Return how many rules of each candidate the firings keep; 0 for all."""
        heights = self._heights(wildcards)
        wanted = [strategy(name, heights) for name in self.config["strategies"]]
        curve = [strategy(name) for name in self.curve(wildcards).split(",")]
        return best_rules([*wanted, *curve])

    def curve(self, wildcards: Any) -> str:
        """Return noisy-or for every h that is chosen from, and for all rules."""
        heights = sorted(set(self._heights(wildcards)) - {0})
        return ",".join([*(f"noisy-or-top-{h}" for h in heights), "noisy-or"])

    def about(self, wildcards: Any) -> list[str]:
        """Return what a result says about itself, as `kgagg report result` takes it."""
        entry = self.config["rule_sets"][wildcards.rules]
        words = ["--dataset", wildcards.dataset, "--rules", wildcards.rules]
        words += ["--title", entry["title"], "--source", self.source(wildcards).kind]
        return words + (["--paper", entry["paper"]] if "paper" in entry else [])

    @property
    def network(self) -> list[str]:
        """Where to look for what is fetched, as `kgagg fetch` takes it."""
        mirror = ["--mirror", self.config["mirror"]] if self.config["mirror"] else []
        return [*mirror, *(["--offline"] if self.config["offline"] else [])]

    def constraint(self, labels: list[str] | None = None) -> str:
        """Return a pattern for labels: of all strategies, or of some."""
        names = list(self.strategies) if labels is None else labels
        return "|".join(map(re.escape, names)) or "-"

    # --- code and costs ------------------------------------------------------------------------

    def code(self, *modules: str) -> str:
        """Return a digest of the code of modules of this package, such as ``commands.apply``."""
        return code_digest(*(f"kgagg.{module}" for module in modules))

    def resources(self, stage: str) -> dict[str, Callable[..., int]]:
        """Return memory and time of one job of a stage, more when it is tried again."""

        def estimate(wildcards: Any) -> Cost:
            names = (getattr(wildcards, name, None) for name in ("rules", "dataset"))
            return cost(self.config, stage, *names)

        return {
            "mem_mb": lambda wildcards, attempt: attempt * estimate(wildcards).memory,
            "runtime": lambda wildcards, attempt: attempt * estimate(wildcards).minutes,
        }

    def costs(self, cores: int | None) -> str:
        """Return the table of predicted costs."""
        return plan(self.config, self.rules, self.fitted, cores or 1)

    def _heights(self, wildcards: Any) -> list[int]:
        heights: list[int] = self.config["rule_sets"][wildcards.rules]["top_h"]
        return heights

    def _pinned(self) -> list[str]:
        return [
            self._pinned_file(*pair)
            for pair, found in self._sources.items()
            if found.kind == "pinned"
        ]

    def _pinned_file(self, rules: str, dataset: str) -> str:
        """Return where a rule file of known content is put, with the ending of its compression."""
        suffix = Path(self._sources[rules, dataset].file).suffix
        ending = suffix if suffix in COMPRESSIONS else ""
        return f"<results>/rules/{dataset}/{rules}.rules.pinned{ending}"


def folder_of(wildcards: Any, input: Mapping[str, Any]) -> str:
    """Return the folder of the data of a job."""
    return os.path.dirname(input["data"][0])  # noqa: PTH120
