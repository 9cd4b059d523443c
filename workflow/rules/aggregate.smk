# From firings to ranks: one job for each strategy, so that one alone can be made again. What is
# tuned is tuned on valid, from files that have nothing of test behind them.


rule aggregate:
    input:
        pairs(
            *(
                f"<results>/ranks/{{dataset}}/{{rules}}/test/{label}.parquet"
                for label in LABELS
            )
        ),
    localrule: True


rule tune:
    input:
        pairs(
            *(
                f"<results>/models/{{dataset}}/{{rules}}/{name}"
                for name in MODELS.values()
            )
        ),
    localrule: True


rule rank_plain:
    input:
        firings="<results>/firings/{dataset}/{rules}/test.parquet",
        kernels=KERNELS,
    output:
        "<results>/ranks/{dataset}/{rules}/test/{label}.parquet",
    log:
        "<logs>/aggregate/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/aggregate/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=label_of("plain"),
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("aggregate"),
    params:
        strategy=lambda wildcards: LABELS[wildcards.label],
        code=code_digest("kgagg.commands.aggregate"),
    shell:
        r"""
        kgagg aggregate {input.firings:q} \
            --strategies {params.strategy:q} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """


rule tune_h:
    input:
        firings="<results>/firings/{dataset}/{rules}/valid.parquet",
        kernels=KERNELS,
    output:
        "<results>/models/{dataset}/{rules}/{label}.json",
    log:
        "<logs>/tune/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/tune/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=label_of("tuned"),
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("aggregate"),
    params:
        top_h=top_h,
        code=code_digest("kgagg.commands.tune"),
    shell:
        r"""
        kgagg tune {input.firings:q} \
            --top-h {params.top_h} \
            --threads {threads} \
            --out {output:q} &>{log:q}
        """


rule rank_tuned:
    input:
        firings="<results>/firings/{dataset}/{rules}/test.parquet",
        model="<results>/models/{dataset}/{rules}/{label}.json",
        kernels=KERNELS,
    output:
        "<results>/ranks/{dataset}/{rules}/test/{label}.parquet",
    log:
        "<logs>/aggregate/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/aggregate/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=label_of("tuned"),
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("aggregate"),
    params:
        code=code_digest("kgagg.commands.aggregate"),
    shell:
        r"""
        kgagg aggregate {input.firings:q} \
            --tuned {input.model:q} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """


rule fit:
    input:
        data=splits("valid"),
        rules="<results>/rules/{dataset}/{rules}.kgagg",
        kernels=KERNELS,
    output:
        model="<results>/models/{dataset}/{rules}/{label}.kgagg",
        record="<results>/times/{dataset}/{rules}/{label}.json",
    log:
        "<logs>/fit/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/fit/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=label_of("fitted"),
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["apply"]
    resources:
        **needs("fit"),
    params:
        folder=folder_of,
        semantics=config["semantics"],
        top_x=config["top_x"],
        code=code_digest("kgagg.commands.fit"),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg fit {params.folder:q} {input.rules:q} \
            --strategy {wildcards.label} \
            --semantics {params.semantics} \
            --top-x {params.top_x} \
            --threads {threads} \
            --json {output.record:q} \
            --out {output.model:q} &>{log:q}
        """


rule rank_fitted:
    input:
        firings="<results>/firings/{dataset}/{rules}/test.parquet",
        model="<results>/models/{dataset}/{rules}/{label}.kgagg",
        kernels=KERNELS,
    output:
        "<results>/ranks/{dataset}/{rules}/test/{label}.parquet",
    log:
        "<logs>/aggregate/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/aggregate/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=label_of("fitted"),
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("aggregate"),
    params:
        code=code_digest("kgagg.commands.aggregate"),
    shell:
        r"""
        kgagg aggregate {input.firings:q} \
            --fitted {input.model:q} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """


# Strategies that tune within one call, without a file in between.
rule rank_whole:
    input:
        data=splits("test"),
        rules="<results>/rules/{dataset}/{rules}.kgagg",
        kernels=KERNELS,
    output:
        "<results>/ranks/{dataset}/{rules}/test/{label}.parquet",
    log:
        "<logs>/aggregate/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/aggregate/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=label_of("whole"),
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["apply"]
    resources:
        **needs("apply"),
    params:
        folder=folder_of,
        strategy=lambda wildcards: LABELS[wildcards.label],
        semantics=config["semantics"],
        top_x=config["top_x"],
        top_h=top_h,
        code=code_digest("kgagg.commands.evaluate"),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg evaluate {params.folder:q} {input.rules:q} \
            --strategies {params.strategy:q} \
            --semantics {params.semantics} \
            --top-x {params.top_x} \
            --top-h {params.top_h} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """


# Noisy-or for every h, on both splits: the curve of MRR against h.
rule rank_curve:
    input:
        firings="<results>/firings/{dataset}/{rules}/{split}.parquet",
        kernels=KERNELS,
    output:
        "<results>/ranks/{dataset}/{rules}/curve/{split}.parquet",
    log:
        "<logs>/curve/{dataset}/{rules}/{split}.log",
    benchmark:
        "<benchmarks>/curve/{dataset}/{rules}/{split}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("aggregate"),
    params:
        strategies=curve_strategies,
        code=code_digest("kgagg.commands.aggregate"),
    shell:
        r"""
        kgagg aggregate {input.firings:q} \
            --strategies {params.strategies:q} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """
