# What people read: tables, pictures, the page; and the record of it all.


rule tables:
    input:
        experiment.tables,
    localrule: True


rule report:
    input:
        "<results>/report/index.html",
        "<results>/manifest.json",
    localrule: True


rule write_tables:
    input:
        **experiment.run,
    output:
        [path for path in experiment.tables if not path.endswith(".md")],
        readable=report(
            [path for path in experiment.tables if path.endswith(".md")],
            category="Tables",
            caption="../report/tables.rst",
        ),
    log:
        "<logs>/tables.log",
    benchmark:
        "<benchmarks>/tables.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("tables"),
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        code=experiment.code("commands.report.tables"),
    shell:
        r"""
        kgagg report tables {input.results:q} \
            --times {input.times:q} \
            --statistics {input.statistics:q} \
            --claims {input.claims:q} \
            --out {params.folder:q} &>{log:q}
        """


rule plots:
    input:
        results=experiment.run["results"],
        times=experiment.run["times"],
    output:
        experiment.plots("png"),
        pictures=report(
            experiment.plots("svg"),
            category="Pictures",
            caption="../report/plots.rst",
        ),
    log:
        "<logs>/plots.log",
    benchmark:
        "<benchmarks>/plots.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("plots"),
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        code=experiment.code("commands.report.plots"),
    shell:
        r"""
        kgagg report plots {input.results:q} \
            --times {input.times:q} \
            --out {params.folder:q} &>{log:q}
        """


rule settings:
    output:
        "<results>/config.json",
    log:
        "<logs>/settings.log",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        # from a function, so that braces in it are no wildcards
        config=lambda wildcards: json.dumps(config, indent=2, sort_keys=True),
    shell:
        r"printf '%s\n' {params.config:q} >{output:q} 2>{log:q}"


rule manifest:
    input:
        files=experiment.recorded,
        results=experiment.run["results"],
        config="<results>/config.json",
        lock=experiment.lock,
    output:
        manifest="<results>/manifest.json",
        crate="<results>/ro-crate-metadata.json",
        workflow="<results>/Snakefile",
    log:
        "<logs>/manifest.log",
    benchmark:
        "<benchmarks>/manifest.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("manifest"),
    params:
        root=lambda wildcards, output: os.path.dirname(output.manifest),
        snakefile=experiment.snakefile,
        jars=[word for jar in experiment.jars for word in ("--jar", jar)],
        code=experiment.code("commands.report.manifest"),
    shell:
        r"""
        kgagg report manifest {input.files:q} \
            --results {input.results:q} \
            --root {params.root:q} \
            --config {input.config:q} \
            --lock {input.lock:q} \
            --workflow {params.snakefile:q} \
            {params.jars:q} &>{log:q}
        """


rule page:
    input:
        **experiment.run,
        plots=experiment.plots("svg"),
        manifest="<results>/manifest.json",
    output:
        "<results>/report/index.html",
    log:
        "<logs>/page.log",
    benchmark:
        "<benchmarks>/page.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("page"),
    params:
        plots=lambda wildcards, input: os.path.dirname(input.plots[0]),
        template=digest_of(experiment.template, "sha256"),
        code=experiment.code("commands.report.page"),
    shell:
        r"""
        kgagg report page {input.results:q} \
            --times {input.times:q} \
            --statistics {input.statistics:q} \
            --claims {input.claims:q} \
            --plots {params.plots:q} \
            --manifest {input.manifest:q} \
            --out {output:q} &>{log:q}
        """


# Without an output, so that it checks anew each time it is asked; and a manifest that is there is no
# input, so that it is not written anew from the very files that it is to check.
rule verify:
    input:
        **experiment.run,
        lock=experiment.lock,
        manifest=[] if experiment.manifest.exists() else "<results>/manifest.json",
    log:
        "<logs>/verify.log",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        manifest=experiment.manifest,
        reference=experiment.reference,
    shell:
        r"""
        kgagg report verify {input.results:q} \
            --times {input.times:q} \
            --statistics {input.statistics:q} \
            --claims {input.claims:q} \
            --manifest {params.manifest:q} \
            --lock {input.lock:q} {params.reference:q} 2>&1 | tee {log:q}
        """
