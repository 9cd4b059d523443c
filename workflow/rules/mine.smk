# Rules: mined here, fetched by digest, or the user's own; then sorted, in binary form.


rule mine:
    input:
        pairs("<results>/rules/{dataset}/{rules}.kgagg"),
    localrule: True


rule mine_rules:
    input:
        data=splits("valid"),
        jar=jar_of,
        kernels=lambda wildcards: KERNELS if source(wildcards).miner == "native" else [],
    output:
        rules="<results>/rules/{dataset}/{rules}.rules.zst",
        record="<results>/rules/{dataset}/{rules}.rules.zst.json",
    log:
        "<logs>/mine/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/mine/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["mine"]
    resources:
        **needs("mine"),
    params:
        miner=lambda wildcards: source(wildcards).miner,
        folder=folder_of,
        options=mining_options,
        code=lambda wildcards: code_digest(f"kgagg.mining.{source(wildcards).miner}"),
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
        data=splits("valid"),
        rules=rule_file,
        kernels=KERNELS,
    output:
        rules="<results>/rules/{dataset}/{rules}.kgagg",
        counts="<results>/rules/{dataset}/{rules}.counts.json",
    log:
        "<logs>/rules/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/rules/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["apply"]
    resources:
        **needs("rules"),
    params:
        folder=folder_of,
        semantics=config["semantics"],
        code=code_digest("kgagg.commands.rules"),
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
