# From ranks to numbers, and how long each strategy takes.


rule result:
    input:
        ranks=expand(
            "<results>/ranks/{{dataset}}/{{rules}}/test/{label}.parquet", label=LABELS
        ),
        curve=expand(
            "<results>/ranks/{{dataset}}/{{rules}}/curve/{split}.parquet", split=SPLITS
        ),
        model=expand("<results>/models/{{dataset}}/{{rules}}/{label}.json", label=TUNED),
        fitted=expand(
            "<results>/models/{{dataset}}/{{rules}}/{label}.kgagg", label=FITTED
        ),
        rules="<results>/rules/{dataset}/{rules}.kgagg",
    output:
        "<results>/results/{dataset}/{rules}.json",
    log:
        "<logs>/result/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/result/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **needs("result"),
    params:
        about=about,
        tuned=lambda wildcards, input: ["--tuned", input.model] if TUNED else [],
        resamples=config["resamples"],
        code=code_digest("kgagg.report.results"),
    shell:
        r"""
        kgagg report result {input.ranks:q} \
            --curve {input.curve:q} \
            --rule-set {input.rules:q} \
            {params.about:q} {params.tuned:q} \
            --fitted {input.fitted:q} \
            --resamples {params.resamples} \
            --out {output:q} &>{log:q}
        """


rule time:
    input:
        data=splits("test"),
        rules="<results>/rules/{dataset}/{rules}.kgagg",
        fitted=expand(
            "<results>/models/{{dataset}}/{{rules}}/{label}.kgagg", label=FITTED
        ),
        records=expand(
            "<results>/times/{{dataset}}/{{rules}}/{label}.json", label=FITTED
        ),
        kernels=KERNELS,
    output:
        "<results>/times/{dataset}/{rules}.json",
    log:
        "<logs>/time/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/time/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["time"]
    resources:
        **needs("time"),
    params:
        folder=folder_of,
        strategies=",".join(config["strategies"]),
        fitted=lambda wildcards, input: [
            argument
            for pair in zip(input.fitted, input.records)
            for argument in ("--fitted", *pair)
        ],
        semantics=config["semantics"],
        top_x=config["top_x"],
        top_h=top_h,
        repeats=config["repeats"],
        code=code_digest("kgagg.report.times"),
    shell:
        r"""
        NUMBA_NUM_THREADS={threads} \
            kgagg time {params.folder:q} {input.rules:q} \
            --strategies {params.strategies:q} \
            {params.fitted:q} \
            --semantics {params.semantics} \
            --top-x {params.top_x} \
            --top-h {params.top_h} \
            --repeats {params.repeats} \
            --threads {threads} \
            --dataset {wildcards.dataset:q} \
            --name {wildcards.rules:q} \
            --json {output:q} &>{log:q}
        """
