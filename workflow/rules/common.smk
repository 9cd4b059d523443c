# What every stage uses: the experiment that the configuration describes.
from snakemake.exceptions import WorkflowError

from kgagg.data.download import digest_of
from kgagg.errors import InputError
from kgagg.pipeline import experiment as files
from kgagg.pipeline.experiment import Experiment, folder_of

try:
    experiment = Experiment(config, workflow.basedir)
except InputError as error:
    raise WorkflowError(str(error)) from None

config.update(experiment.config)
# rules call `kgagg`: the one beside the Python that runs this workflow, active or not
shell.prefix(experiment.shell_prefix)


wildcard_constraints:
    dataset="|".join(map(re.escape, experiment.datasets)),
    rules="|".join(map(re.escape, experiment.rules)),
    split="valid|test",
    part="train|valid|test",
    label=experiment.constraint(),


# Predicted minutes and memory, before a run or by itself. Then kernels are compiled, once, so that
# jobs side by side need not wait for one another. This is no rule: jobs would depend on it, and
# Snakemake does not look at what else has changed for a job behind one that is to run.
onstart:
    print(experiment.costs(workflow.cores), file=sys.stderr)
    # before any job, and not for the table of costs alone
    if "plan" not in sys.argv and (
        missing := experiment.unreachable(config["results"])
    ):
        raise WorkflowError(
            f"cannot reach: {', '.join(missing)}; put them into KGAGG_MIRROR, or run config/demo.yaml"
        )
    shell("kgagg compile --quiet")


onsuccess:
    page = os.path.join(config["results"], "report", "index.html")
    if os.path.exists(page):
        print(f"The report: {page}", file=sys.stderr)


rule plan:
    log:
        "<logs>/plan.log",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        costs=experiment.costs(workflow.cores),
    shell:
        r"printf '%s' {params.costs:q} | tee {log:q}"
