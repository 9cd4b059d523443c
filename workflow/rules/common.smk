# Every function and setting that more than one stage uses.
import dataclasses
import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from kgagg import configuration
from kgagg.costs import cost, plan
from kgagg.datasets import find
from kgagg.errors import InputError
from kgagg.fetching import digest_of
from kgagg.files import COMPRESSIONS
from kgagg.provenance import code_digest

SCHEMA = Path(workflow.basedir, "workflow", "schemas", "config.schema.yaml")

# Rules call `kgagg`: the one beside the Python that runs this workflow, active or not.
os.environ.update(
    PATH=os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()])
)

config.update(configuration.typed(config))
# Jobs on a cluster read this file as well: once is enough to check
if workflow.is_main_process:
    try:
        configuration.check(config, SCHEMA)
    except InputError as error:
        raise WorkflowError(str(error)) from None

DATASETS = config["datasets"]
RULES = configuration.usable(config)
# file names without a star
LABELS = {name.replace("*", "-star"): name for name in config["strategies"]}
KINDS = {label: configuration.staged(name) for label, name in LABELS.items()}
TUNED = [label for label, kind in KINDS.items() if kind == "tuned"]
FITTED = [label for label, kind in KINDS.items() if kind == "fitted"]
# what is found on valid, by label
MODELS = {
    label: f"{label}.json" if kind == "tuned" else f"{label}.kgagg"
    for label, kind in KINDS.items()
    if kind in ("tuned", "fitted")
}
SPLITS = ["valid", "test"]
SOURCES = {
    (rules, dataset): configuration.source(config, rules, dataset)
    for rules in RULES
    for dataset in DATASETS
}
JARS = sorted({found.jar for found in SOURCES.values()} - {""})
PINNED = [pair for pair, found in SOURCES.items() if found.kind == "pinned"]
MINED = [
    f"<results>/rules/{dataset}/{rules}.rules.zst{ending}"
    for (rules, dataset), found in SOURCES.items()
    if found.kind == "mined"
    for ending in ("", ".json")
]
NETWORK = [
    *(["--mirror", config["mirror"]] if config["mirror"] else []),
    *(["--offline"] if config["offline"] else []),
]
STAGES = ["compile", "mine", "rules", "apply", "aggregate", "tune"]
KERNELS = ancient("<results>/kernels.done")
MANIFEST = Path(config["results"], "manifest.json")
LOCK = Path(workflow.basedir, "envs", "requirements.lock")
TEMPLATE = Path(workflow.basedir, "kgagg", "report", "page.html")
TABLES = ["results", "comparison", "tests", "datasets", "rules", "runtimes", "claims"]
FORMS = ["md", "tex", "csv", "html"]
PLOTS = ["curve", "tradeoff", "chosen", "rules", "gain"]
PLOTS += ["learning"] if {"learned", "sparse"} & set(FITTED) else []
PLOTS += ["thresholds"] if "safran" in FITTED else []
CLAIMS = next(
    (path for path in [Path(config["claims"])] if path.exists()),
    Path(workflow.basedir, config["claims"]),
)


wildcard_constraints:
    dataset="|".join(map(re.escape, DATASETS)),
    rules="|".join(map(re.escape, RULES)),
    split="valid|test",
    part="train|valid|test",


def label_of(*kinds):
    """A wildcard constraint: strategies that are made in one of these ways."""
    return (
        "|".join(re.escape(label) for label, kind in KINDS.items() if kind in kinds)
        or "-"
    )


def source(wildcards):
    """Where the rules of a rule set for a dataset come from."""
    return SOURCES[wildcards.rules, wildcards.dataset]


def splits(split):
    """The data that a job on a split may see: before test, there is no test."""
    if split == "test":
        return [f"<results>/data/{{dataset}}/{part}.txt" for part in ["train", *SPLITS]]
    return [f"<results>/tuning/{{dataset}}/{part}.txt" for part in ["train", "valid"]]


def folder_of(wildcards, input):
    """The folder of the data of a job."""
    return os.path.dirname(input.data[0])


def top_h(wildcards):
    """The values from which h is chosen, as `kgagg` takes them."""
    values = config["rule_sets"][wildcards.rules]["top_h"]
    return ",".join(str(h) if h else "all" for h in values)


def pairs(*patterns):
    """Files of all rule sets on all datasets."""
    return expand(patterns, dataset=DATASETS, rules=RULES)


def pinned_file(rules, dataset):
    """Where a rule file of known content is put; its ending says how it is compressed."""
    suffix = Path(SOURCES[rules, dataset].file).suffix
    ending = suffix if suffix in COMPRESSIONS else ""
    return f"<results>/rules/{dataset}/{rules}.rules.pinned{ending}"


def rule_file(wildcards):
    """The rules as text: mined, pinned or the user's own."""
    match source(wildcards).kind:
        case "mined":
            return "<results>/rules/{dataset}/{rules}.rules.zst"
        case "pinned":
            return pinned_file(wildcards.rules, wildcards.dataset)
        case "supplied":
            return source(wildcards).file


def jar_of(wildcards):
    """The jar that mines, if one does."""
    jar = source(wildcards).jar
    return f"<results>/jars/{jar}.jar" if jar in JARS else []


def mining_options(wildcards, input):
    """The options of the miner, the jar as a file."""
    found = source(wildcards)
    options = {name: value for name, value in found.options.items() if name != "jar"}
    words = dataclasses.replace(found, options=options).arguments
    return [*words, "--jar", input.jar] if input.jar else words


def best_rules(wildcards):
    """How many rules of each candidate are kept."""
    return configuration.best_rules(
        config["strategies"], config["rule_sets"][wildcards.rules]["top_h"]
    )


def curve_strategies(wildcards):
    """Noisy-or for every h that is chosen from, and for all rules."""
    heights = sorted(set(config["rule_sets"][wildcards.rules]["top_h"]) - {0})
    return ",".join([*(f"noisy-or-top-{h}" for h in heights), "noisy-or"])


def about(wildcards):
    """What a result says about itself."""
    entry = config["rule_sets"][wildcards.rules]
    words = ["--dataset", wildcards.dataset, "--rules", wildcards.rules]
    words += ["--title", entry["title"], "--source", source(wildcards).kind]
    return words + (["--paper", entry["paper"]] if "paper" in entry else [])


def recorded():
    """The files of the manifest: all but firings, which are large and quickly made again."""
    return [
        *expand(splits("test"), dataset=DATASETS),
        *MINED,
        *(pinned_file(rules, dataset) for rules, dataset in PINNED),
        *pairs(
            "<results>/rules/{dataset}/{rules}.kgagg",
            *(
                f"<results>/ranks/{{dataset}}/{{rules}}/test/{name}.parquet"
                for name in LABELS
            ),
            *(
                f"<results>/models/{{dataset}}/{{rules}}/{name}"
                for name in MODELS.values()
            ),
        ),
        *RUN["results"],
        *RUN["times"],
        RUN["statistics"],
        *expand("<results>/tables/{table}.{form}", table=TABLES, form=FORMS),
        *expand("<results>/plots/{plot}.{form}", plot=PLOTS, form=["svg", "png"]),
    ]


def needs(stage):
    """Memory and time of one job of a stage, more when it is tried again."""

    def estimate(wildcards):
        names = (getattr(wildcards, name, None) for name in ("rules", "dataset"))
        return cost(config, stage, *names)

    return {
        "mem_mb": lambda wildcards, attempt: attempt * estimate(wildcards).memory,
        "runtime": lambda wildcards, attempt: attempt * estimate(wildcards).minutes,
    }


# What tables, page and claims are made from
RUN = {
    "results": pairs("<results>/results/{dataset}/{rules}.json"),
    "times": pairs("<results>/times/{dataset}/{rules}.json"),
    "statistics": "<results>/statistics.json",
    "claims": CLAIMS,
}

# Before a run, and before a dry one
if workflow.is_main_process:
    print(plan(config, RULES, workflow.resource_settings.cores or 1), file=sys.stderr)
