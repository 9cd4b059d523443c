# Everything that comes from outside: data, jars, pinned rules. After `snakemake fetch` the rest
# needs no network.


rule fetch:
    input:
        experiment.fetched,
    localrule: True


rule dataset:
    output:
        experiment.data("test"),
    log:
        "<logs>/fetch/{dataset}.log",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        folder=lambda wildcards, output: os.path.dirname(os.path.dirname(output[0])),
        network=experiment.network,
        place=lambda wildcards: experiment.places[wildcards.dataset],
        content=lambda wildcards: experiment.content(wildcards.dataset),
    shell:
        r"""
        kgagg fetch {params.place:q} \
            --to {params.folder:q} \
            {params.network:q} &>{log:q}
        """


rule jar:
    output:
        "<results>/jars/{jar}.jar",
    log:
        "<logs>/fetch/{jar}.log",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        network=experiment.network,
    shell:
        r"""
        kgagg fetch {wildcards.jar:q} \
            --to {params.folder:q} \
            {params.network:q} &>{log:q}
        """


rule pinned:
    output:
        "<results>/rules/{dataset}/{rules}.rules{ending}",
    log:
        "<logs>/fetch/{dataset}/{rules}{ending}.log",
    wildcard_constraints:
        ending=r"\.pinned(\.gz|\.bz2|\.xz|\.zst)?",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    params:
        source=lambda wildcards: experiment.source(wildcards).file,
        digest=lambda wildcards: experiment.source(wildcards).digest,
        network=experiment.network,
    shell:
        r"""
        kgagg fetch {params.source:q} \
            --digest {params.digest:q} \
            --to {output:q} \
            {params.network:q} &>{log:q}
        """


# What mining, applying to valid and tuning get to see: a folder in which there is no test split.
rule before_test:
    input:
        "<results>/data/{dataset}/{part}.txt",
    output:
        "<results>/tuning/{dataset}/{part}.txt",
    log:
        "<logs>/before_test/{dataset}/{part}.log",
    wildcard_constraints:
        part="train|valid",
    localrule: True
    conda:
        "../../envs/kgagg.yaml"
    shell:
        "cp {input:q} {output:q} &>{log:q}"


rule statistics:
    input:
        experiment.all_data,
    output:
        table=report(
            "<results>/statistics.md",
            category="Data",
            caption="../report/statistics.rst",
        ),
        numbers="<results>/statistics.json",
        picture=report(
            "<results>/degrees.svg", category="Data", caption="../report/degrees.rst"
        ),
    log:
        "<logs>/statistics.log",
    benchmark:
        "<benchmarks>/statistics.tsv"
    conda:
        "../../envs/kgagg.yaml"
    resources:
        **experiment.resources("statistics"),
    params:
        folders=lambda wildcards, input: [os.path.dirname(file) for file in input[::3]],
        code=experiment.code("commands.stats"),
    shell:
        r"""
        kgagg stats {params.folders:q} \
            --table {output.table:q} \
            --json {output.numbers:q} \
            --picture {output.picture:q} &>{log:q}
        """
