"""What a study found: collected ranks, then tables, figures, galleries and the report's own pages."""


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
        made=drawn_from,
    output:
        [
            report(
                f"results/{{study}}/tables/{name}.html",
                caption=f"../workflow/report/{name}_table.rst",
                category=entry.category,
                labels=labels(entry, "table"),
            )
            for name, entry in TABLES.items()
        ],
        expand(
            "results/{{study}}/tables/{table}.{format}",
            table=TABLES,
            format=["csv", "md", "tex"],
        ),
    log:
        "logs/tables/{study}.log",
    benchmark:
        "logs/tables/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=4000,
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
        made=drawn_from,
    output:
        [
            report(
                f"results/{{study}}/figures/{name}.html",
                caption=f"../workflow/report/{name}.rst",
                category=entry.category,
                labels=labels(entry, "figure"),
            )
            for name, entry in FIGURES.items()
        ],
        expand(
            "results/{{study}}/figures/{figure}.{format}",
            figure=FIGURES,
            format=["pdf", "png"],
        ),
    log:
        "logs/figures/{study}.log",
    benchmark:
        "logs/figures/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        tables=subpath(input.ranks, parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Drawing figures"
    shell:
        "python -m hnclip.report.figures {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"


rule galleries:
    input:
        study="results/{study}/study.json",
        ranks=rules.collect.output.ranks,
        epochs=rules.collect.output.epochs,
        runs=rules.collect.output.runs,
        overlap=rules.collect.output.overlap,
        sources=rules.collect.output.sources,
        made=drawn_from,
    output:
        [
            report(
                f"results/{{study}}/galleries/{name}.html",
                caption=f"../workflow/report/{name}_gallery.rst",
                category=entry.category,
                labels=labels(entry, "gallery"),
            )
            for name, entry in GALLERIES.items()
        ],
    log:
        "logs/galleries/{study}.log",
    benchmark:
        "logs/galleries/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        tables=subpath(input.ranks, parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Writing galleries"
    shell:
        "python -m hnclip.report.galleries {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"


rule pages:
    input:
        study="results/{study}/study.json",
        ranks=rules.collect.output.ranks,
        epochs=rules.collect.output.epochs,
        runs=rules.collect.output.runs,
        overlap=rules.collect.output.overlap,
        sources=rules.collect.output.sources,
        made=drawn_from,
    output:
        "results/{study}/report/first_page.html",
        [
            report(
                f"results/{{study}}/report/{name}.html",
                caption=f"../workflow/report/{name}.rst",
                category=entry.category,
                labels=labels(entry, "page"),
            )
            for name, entry in PAGES.items()
        ],
    log:
        "logs/pages/{study}.log",
    benchmark:
        "logs/pages/{study}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        tables=subpath(input.ranks, parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Writing the report's first page"
    shell:
        "python -m hnclip.report.pages {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"
