# The whole experiment: data, rules, firings, ranks, tables, report. `snakemake --cores N` runs the
# paper, `--configfile config/demo.yaml` the demo; workflow/rules has one file for each stage.
# Stages are targets: fetch mine apply fit aggregate tables report verify; `plan` predicts the costs.
import json
import os
import re
import sys

from snakemake.utils import min_version

min_version("9.19")


configfile: "config/config.yaml"


pathvars:
    results=config["results"],
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


scattergather:
    queries=config["chunks"],


include: "workflow/rules/common.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/mine.smk"
include: "workflow/rules/apply.smk"
include: "workflow/rules/aggregate.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        rules.tables.input,
        rules.report.input,
    localrule: True
