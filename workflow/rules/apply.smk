# Rules applied to the queries of a split: scattered over jobs, gathered to one file whose bytes do
# not depend on how many there were.


rule apply:
    input:
        experiment.pairs(files.FIRINGS, split=experiment.splits),
    localrule: True


rule apply_part:
    input:
        data=lambda wildcards: experiment.data(wildcards.split),
        rules=files.RULE_SET,
    output:
        temp("<results>/firings/{dataset}/{rules}/{split}/{scatteritem}.parquet"),
    log:
        "<logs>/apply/{dataset}/{rules}/{split}/{scatteritem}.log",
    benchmark:
        "<benchmarks>/apply/{dataset}/{rules}/{split}/{scatteritem}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["apply"]
    resources:
        **experiment.resources("apply"),
    params:
        folder=folder_of,
        part=lambda wildcards: wildcards.scatteritem.replace("-of-", "/"),
        semantics=config["semantics"],
        top_x=config["top_x"],
        best=experiment.best_rules,
        code=experiment.code("commands.apply"),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg apply {params.folder:q} {input.rules:q} \
            --split {wildcards.split} \
            --part {params.part} \
            --semantics {params.semantics} \
            --top-x {params.top_x} \
            --best {params.best} \
            --threads {threads} \
            --out {output:q} &>{log:q}
        """


rule gather:
    input:
        gather.queries(
            "<results>/firings/{{dataset}}/{{rules}}/{{split}}/{scatteritem}.parquet"
        ),
    output:
        files.FIRINGS,
    log:
        "<logs>/gather/{dataset}/{rules}/{split}.log",
    benchmark:
        "<benchmarks>/gather/{dataset}/{rules}/{split}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("gather"),
    params:
        code=experiment.code("commands.gather"),
    shell:
        "kgagg gather {input:q} --out {output:q} &>{log:q}"
