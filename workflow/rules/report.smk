# What people read: tables, pictures, the page; and the record of it all.


rule tables:
    input:
        expand("<results>/tables/{table}.{form}", table=TABLES, form=FORMS),
    localrule: True


rule report:
    input:
        "<results>/report/index.html",
        "<results>/manifest.json",
    localrule: True


rule write_tables:
    input:
        **RUN,
    output:
        expand("<results>/tables/{table}.{form}", table=TABLES, form=FORMS[1:]),
        readable=report(
            expand("<results>/tables/{table}.{form}", table=TABLES, form=FORMS[:1]),
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
        **needs("tables"),
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        code=code_digest("kgagg.report.contents", "kgagg.report.results"),
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
        results=RUN["results"],
        times=RUN["times"],
    output:
        expand("<results>/plots/{plot}.png", plot=PLOTS),
        pictures=report(
            expand("<results>/plots/{plot}.svg", plot=PLOTS),
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
        **needs("plots"),
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        code=code_digest("kgagg.report.plots"),
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
        config=json.dumps(config, indent=2, sort_keys=True),
    shell:
        r"printf '%s\n' {params.config:q} >{output:q} 2>{log:q}"


rule manifest:
    input:
        files=recorded(),
        config="<results>/config.json",
        lock=LOCK,
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
        **needs("manifest"),
    params:
        root=lambda wildcards, output: os.path.dirname(output.manifest),
        snakefile=workflow.main_snakefile,
        jars=[word for jar in JARS for word in ("--jar", jar)],
        code=code_digest("kgagg.report.manifest"),
    shell:
        r"""
        kgagg report manifest {input.files:q} \
            --root {params.root:q} \
            --config {input.config:q} \
            --lock {input.lock:q} \
            --workflow {params.snakefile:q} \
            {params.jars:q} &>{log:q}
        """


rule page:
    input:
        **RUN,
        plots=expand("<results>/plots/{plot}.svg", plot=PLOTS),
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
        **needs("page"),
    params:
        plots=lambda wildcards, input: os.path.dirname(input.plots[0]),
        template=digest_of(TEMPLATE, "sha256"),
        code=code_digest("kgagg.report.page", "kgagg.report.contents"),
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
        **RUN,
        lock=LOCK,
        manifest=[] if MANIFEST.exists() else "<results>/manifest.json",
    log:
        "<logs>/verify.log",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        manifest=MANIFEST,
    shell:
        r"""
        kgagg report verify {input.results:q} \
            --times {input.times:q} \
            --statistics {input.statistics:q} \
            --claims {input.claims:q} \
            --manifest {params.manifest:q} \
            --lock {input.lock:q} 2>&1 | tee {log:q}
        """
