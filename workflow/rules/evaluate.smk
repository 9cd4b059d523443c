# From ranks to numbers, and how long each strategy takes.


rule result:
    input:
        ranks=experiment.each(files.RANKS),
        curve=[files.CURVE.replace("{split}", split) for split in experiment.splits],
        fitted=experiment.each(files.MODEL, experiment.fitted),
        rules=files.RULE_SET,
    output:
        files.RESULT,
    log:
        "<logs>/result/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/result/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("result"),
    params:
        about=experiment.about,
        resamples=config["resamples"],
        code=experiment.code("commands.report.result"),
    shell:
        r"""
        kgagg report result {input.ranks:q} \
            --curve {input.curve:q} \
            --rule-set {input.rules:q} \
            {params.about:q} \
            --fitted {input.fitted:q} \
            --resamples {params.resamples} \
            --out {output:q} &>{log:q}
        """


rule time:
    input:
        data=experiment.data("test"),
        rules=files.RULE_SET,
        fitted=experiment.each(files.MODEL, experiment.fitted),
        records=experiment.each(files.FIT_RECORD, experiment.fitted),
    output:
        files.TIMES,
    log:
        "<logs>/time/{dataset}/{rules}.log",
    benchmark:
        "<benchmarks>/time/{dataset}/{rules}.tsv"
    conda:
        "../../envs/kgagg.yaml"
    threads: config["threads"]["time"]
    resources:
        **experiment.resources("time"),
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
        top_h=experiment.top_h,
        repeats=config["repeats"],
        code=experiment.code("commands.time"),
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
