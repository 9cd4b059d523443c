# Rules applied to the queries of a split: scattered over jobs, gathered to one file whose bytes do
# not depend on how many there were.


rule apply:
    input:
        pairs(
            *(
                f"<results>/firings/{{dataset}}/{{rules}}/{split}.parquet"
                for split in SPLITS
            )
        ),
    localrule: True


# Every kernel compiled once, before jobs that run side by side would wait for one another.
rule kernels:
    output:
        touch("<results>/kernels.done"),
    log:
        "<logs>/kernels.log",
    benchmark:
        "<benchmarks>/kernels.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: 2
    resources:
        **needs("kernels"),
    params:
        code=code_digest(*(f"kgagg.commands.{verb}" for verb in STAGES)),
    shell:
        "kgagg compile --threads {threads} &>{log:q}"


rule apply_part:
    input:
        data=lambda wildcards: splits(wildcards.split),
        rules="<results>/rules/{dataset}/{rules}.kgagg",
        kernels=KERNELS,
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
        **needs("apply"),
    params:
        folder=folder_of,
        part=lambda wildcards: wildcards.scatteritem.replace("-of-", "/"),
        semantics=config["semantics"],
        top_x=config["top_x"],
        best=best_rules,
        code=code_digest("kgagg.commands.apply"),
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
        "<results>/firings/{dataset}/{rules}/{split}.parquet",
    log:
        "<logs>/gather/{dataset}/{rules}/{split}.log",
    benchmark:
        "<benchmarks>/gather/{dataset}/{rules}/{split}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("gather"),
    params:
        code=code_digest("kgagg.commands.gather"),
    shell:
        "kgagg gather {input:q} --out {output:q} &>{log:q}"
