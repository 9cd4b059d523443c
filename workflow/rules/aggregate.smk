# From firings to ranks: one job for each strategy, so that one alone can be made again. What is
# fitted is fitted on train and valid, from files that have nothing of test behind them.


rule aggregate:
    input:
        experiment.pairs(*experiment.each(files.RANKS)),
    localrule: True


rule fit:
    input:
        experiment.pairs(*experiment.each(files.MODEL, experiment.fitted)),
    localrule: True


rule fit_strategy:
    input:
        data=experiment.data("valid"),
        rules=files.RULE_SET,
    output:
        model=files.MODEL,
        record=files.FIT_RECORD,
    log:
        "<logs>/fit/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/fit/{dataset}/{rules}/{label}.tsv"
    wildcard_constraints:
        label=experiment.constraint(experiment.fitted),
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["apply"]
    resources:
        **experiment.resources("fit"),
    params:
        folder=folder_of,
        strategy=lambda wildcards: experiment.strategies[wildcards.label].name,
        semantics=config["semantics"],
        top_x=config["top_x"],
        top_h=experiment.top_h,
        code=experiment.code("commands.fit"),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg fit {params.folder:q} {input.rules:q} \
            --strategy {params.strategy:q} \
            --semantics {params.semantics} \
            --top-x {params.top_x} \
            --top-h {params.top_h} \
            --threads {threads} \
            --json {output.record:q} \
            --out {output.model:q} &>{log:q}
        """


rule rank:
    input:
        firings=files.FIRINGS.replace("{split}", "test"),
        model=experiment.model,
    output:
        files.RANKS,
    log:
        "<logs>/aggregate/{dataset}/{rules}/{label}.log",
    benchmark:
        "<benchmarks>/aggregate/{dataset}/{rules}/{label}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("aggregate"),
    params:
        strategy=lambda wildcards, input: input.model
        or experiment.strategies[wildcards.label].name,
        code=experiment.code("commands.aggregate"),
    shell:
        r"""
        kgagg aggregate {input.firings:q} \
            --strategies {params.strategy:q} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """


# Noisy-or for every h, on both splits: the curve of MRR against h.
rule rank_curve:
    input:
        firings=files.FIRINGS,
    output:
        files.CURVE,
    log:
        "<logs>/curve/{dataset}/{rules}/{split}.log",
    benchmark:
        "<benchmarks>/curve/{dataset}/{rules}/{split}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("aggregate"),
    params:
        strategies=experiment.curve,
        code=experiment.code("commands.aggregate"),
    shell:
        r"""
        kgagg aggregate {input.firings:q} \
            --strategies {params.strategies:q} \
            --threads {threads} \
            --ranks {output:q} &>{log:q}
        """
