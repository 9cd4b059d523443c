# Data: fetched, verified, counted, drawn.


rule fetch:
    output:
        expand(
            "<results>/data/{{dataset}}/{split}.txt", split=["train", "valid", "test"]
        ),
    log:
        "<logs>/fetch/{dataset}.log",
    conda:
        "../../envs/kgagg.yaml"
    params:
        folder=lambda wildcards, output: os.path.dirname(os.path.dirname(output[0])),
        mirror=lambda wildcards: (
            ["--mirror", config["mirror"]] if config["mirror"] else []
        ),
        offline="--offline" if config["offline"] else "",
        content=lambda wildcards: find(wildcards.dataset).key,
    shell:
        r"""
        kgagg fetch {wildcards.dataset:q} \
            --to {params.folder:q} \
            {params.mirror:q} {params.offline} &>{log:q}
        """


rule statistics:
    input:
        [splits(dataset) for dataset in config["datasets"]],
    output:
        table=report(
            "<results>/statistics.md",
            category="Data",
            caption="../report/statistics.rst",
        ),
        numbers="<results>/statistics.json",
        picture=report(
            "<results>/degrees.svg", category="Data", caption="../report/degrees.rst"
        ),
    log:
        "<logs>/statistics.log",
    conda:
        "../../envs/kgagg.yaml"
    params:
        folders=lambda wildcards, input: [os.path.dirname(file) for file in input[::3]],
        code=code_digest("kgagg.commands.stats"),
    shell:
        r"""
        kgagg stats {params.folders:q} \
            --table {output.table:q} \
            --json {output.numbers:q} \
            --picture {output.picture:q} &>{log:q}
        """
