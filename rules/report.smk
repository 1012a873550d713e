"""What a study found: collected ranks, then tables and figures."""


localrules:
    study,


rule study:
    output:
        "results/{study}/study.json",
    log:
        "logs/study/{study}.log",
    conda:
        "../envs/report.yaml"
    params:
        sources=study_sources,
    message:
        "Record of study {wildcards.study}"
    shell:
        "printf '%s\\n' {params.sources:q} | python -m hnclip.study /dev/stdin {output:q} > {log:q} 2>&1"


rule collect:
    input:
        study="results/{study}/study.json",
        files=collected,
    output:
        ranks="results/{study}/tables/ranks.parquet",
        epochs="results/{study}/tables/epochs.parquet",
        runs="results/{study}/tables/runs.parquet",
        overlap="results/{study}/tables/overlap.parquet",
        sources="results/{study}/tables/sources.parquet",
    log:
        "logs/collect/{study}.log",
    benchmark:
        "logs/collect/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        folder=subpath(output.ranks, parent=True),
    message:
        "Collecting the ranks of study {wildcards.study}"
    shell:
        "python -m hnclip.report.collect {input.study:q} {params.folder:q} > {log:q} 2>&1"


rule tables:
    input:
        study="results/{study}/study.json",
        ranks=rules.collect.output.ranks,
        epochs=rules.collect.output.epochs,
        runs=rules.collect.output.runs,
        overlap=rules.collect.output.overlap,
        sources=rules.collect.output.sources,
    output:
        report(
            "results/{study}/tables/main.csv",
            caption="../workflow/report/main_table.rst",
            category="Tables",
            labels={"table": "recall of every method", "format": "CSV"},
        ),
        report(
            "results/{study}/tables/differences.csv",
            caption="../workflow/report/difference_table.rst",
            category="Tables",
            labels={"table": "paired differences", "format": "CSV"},
        ),
        report(
            "results/{study}/tables/fractions.csv",
            caption="../workflow/report/fraction_table.rst",
            category="Tables",
            labels={"table": "R@1 by data fraction", "format": "CSV"},
        ),
        report(
            "results/{study}/tables/plugin.csv",
            caption="../workflow/report/plugin_table.rst",
            category="Tables",
            labels={"table": "the boost in every framework", "format": "CSV"},
        ),
        report(
            "results/{study}/tables/efficiency.csv",
            caption="../workflow/report/efficiency_table.rst",
            category="Tables",
            labels={"table": "cost of every framework", "format": "CSV"},
        ),
        report(
            "results/{study}/tables/overlap.csv",
            caption="../workflow/report/overlap_table.rst",
            category="Tables",
            labels={"table": "test images that were trained on", "format": "CSV"},
        ),
        report(
            "results/{study}/tables/paper.csv",
            caption="../workflow/report/paper_table.rst",
            category="Tables",
            labels={"table": "beside the paper's numbers", "format": "CSV"},
        ),
        expand(
            "results/{{study}}/tables/{table}.{format}",
            table=TABLES,
            format=["md", "tex"],
        ),
    log:
        "logs/tables/{study}.log",
    benchmark:
        "logs/tables/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        folder=subpath(output[0], parent=True),
    message:
        "Writing tables"
    shell:
        "python -m hnclip.report.tables {input.study:q} {params.folder:q} {params.folder:q} > {log:q} 2>&1"


rule figures:
    input:
        study="results/{study}/study.json",
        ranks=rules.collect.output.ranks,
        epochs=rules.collect.output.epochs,
        runs=rules.collect.output.runs,
        overlap=rules.collect.output.overlap,
        sources=rules.collect.output.sources,
        embeddings=embeddings,
    output:
        report(
            "results/{study}/figures/fractions.png",
            caption="../workflow/report/fractions.rst",
            category="Figures",
            labels={"figure": "R@1 by data fraction"},
        ),
        report(
            "results/{study}/figures/epochs.png",
            caption="../workflow/report/epochs.rst",
            category="Figures",
            labels={"figure": "R@1 by epoch"},
        ),
        report(
            "results/{study}/figures/caption_cosines.png",
            caption="../workflow/report/caption_cosines.rst",
            category="Figures",
            labels={"figure": "how alike the captions are"},
        ),
        expand("results/{{study}}/figures/{figure}.pdf", figure=FIGURES),
    log:
        "logs/figures/{study}.log",
    benchmark:
        "logs/figures/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        tables=subpath(input.ranks, parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Drawing figures"
    shell:
        "python -m hnclip.report.figures {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"
