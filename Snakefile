# The whole experiment: data, rules, aggregation, tables. `snakemake --cores N` runs the paper,
# `--configfile config/demo.yaml` the demo; workflow/rules has one file for each stage.
from snakemake.utils import min_version, validate

min_version("9.19")


configfile: "config/config.yaml"


validate(config, schema="workflow/schemas/config.schema.yaml")


pathvars:
    results=config["results"],
    logs="<results>/logs",


include: "workflow/rules/common.smk"
include: "workflow/rules/fetch.smk"


rule all:
    default_target: True
    input:
        "<results>/statistics.md",
        "<results>/degrees.svg",
    localrule: True
