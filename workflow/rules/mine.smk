# Rules: mined here, fetched by digest, or the user's own; then sorted, in binary form.


rule mine:
    input:
        experiment.pairs(files.RULE_SET),
    localrule: True


rule mine_rules:
    input:
        data=experiment.data("valid"),
        jar=experiment.jar,
    output:
        rules=files.MINED,
        record=f"{files.MINED}.json",
    log:
        "<logs>/mine/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/mine/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["mine"]
    resources:
        **experiment.resources("mine"),
    params:
        miner=lambda wildcards: experiment.source(wildcards).miner,
        folder=folder_of,
        options=experiment.mining_options,
        code=lambda wildcards: experiment.code(
            f"commands.mine.{experiment.source(wildcards).miner}"
        ),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg mine {params.miner} {params.folder:q} \
            --out {output.rules:q} \
            --threads {threads} \
            {params.options:q} &>{log:q}
        """


rule rule_set:
    input:
        data=experiment.data("valid"),
        rules=experiment.rule_file,
    output:
        rules=files.RULE_SET,
        counts="<results>/rules/{dataset}/{rules}.counts.json",
    log:
        "<logs>/rules/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/rules/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["apply"]
    resources:
        **experiment.resources("rules"),
    params:
        folder=folder_of,
        semantics=config["semantics"],
        # the verb also compares rule sets by their MRR, which converting them does not depend on
        code=experiment.code(
            "graph.graph", "rules.ruleset", "rules.summary", "rules.writing"
        ),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg rules {input.rules:q} \
            --data {params.folder:q} \
            --semantics {params.semantics} \
            --threads {threads} \
            --to {output.rules:q} \
            --json {output.counts:q} &>{log:q}
        """
