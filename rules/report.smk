"""What a study found: collected ranks, then tables, figures, galleries and the report's own pages."""


localrules:
    study,


rule study:
    output:
        f"results/{STUDY}/study.json",
    log:
        f"logs/study/{STUDY}.log",
    conda:
        "../envs/report.yaml"
    params:
        sources=study_sources,
    message:
        f"Record of study {STUDY}"
    shell:
        "printf '%s\\n' {params.sources:q} | python -m hnclip.study /dev/stdin {output:q} > {log:q} 2>&1"


rule collect:
    input:
        study=f"results/{STUDY}/study.json",
        files=collected,
    output:
        ranks=f"results/{STUDY}/tables/ranks.parquet",
        epochs=f"results/{STUDY}/tables/epochs.parquet",
        runs=f"results/{STUDY}/tables/runs.parquet",
        overlap=f"results/{STUDY}/tables/overlap.parquet",
        sources=f"results/{STUDY}/tables/sources.parquet",
    log:
        f"logs/collect/{STUDY}.log",
    benchmark:
        f"logs/collect/{STUDY}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        folder=subpath(output.ranks, parent=True),
    message:
        f"Collecting the ranks of study {STUDY}"
    shell:
        "python -m hnclip.report.collect {input.study:q} {params.folder:q} > {log:q} 2>&1"


rule tables:
    input:
        rules.collect.output,
        study=f"results/{STUDY}/study.json",
        made=drawn_from,
    output:
        [
            report(
                f"results/{STUDY}/tables/{name}.html",
                caption=f"../workflow/report/{name}_table.rst",
                category=entry.category,
                labels=labels(entry, "table"),
            )
            for name, entry in TABLES.items()
        ],
        expand(
            f"results/{STUDY}/tables/{{table}}.{{format}}",
            table=TABLES,
            format=["csv", "md", "tex"],
        ),
    log:
        f"logs/tables/{STUDY}.log",
    benchmark:
        f"logs/tables/{STUDY}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
    params:
        folder=subpath(output[0], parent=True),
    message:
        "Writing tables"
    shell:
        "python -m hnclip.report.tables {input.study:q} {params.folder:q} {params.folder:q} > {log:q} 2>&1"


rule figures:
    input:
        rules.collect.output,
        study=f"results/{STUDY}/study.json",
        made=drawn_from,
    output:
        [
            report(
                f"results/{STUDY}/figures/{name}.html",
                caption=f"../workflow/report/{name}.rst",
                category=entry.category,
                labels=labels(entry, "figure"),
            )
            for name, entry in FIGURES.items()
        ],
        expand(
            f"results/{STUDY}/figures/{{figure}}.{{format}}",
            figure=FIGURES,
            format=["pdf", "png"],
        ),
    log:
        f"logs/figures/{STUDY}.log",
    benchmark:
        f"logs/figures/{STUDY}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
    params:
        tables=subpath(input[0], parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Drawing figures"
    shell:
        "python -m hnclip.report.figures {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"


rule galleries:
    input:
        rules.collect.output,
        study=f"results/{STUDY}/study.json",
        made=drawn_from,
    output:
        [
            report(
                f"results/{STUDY}/galleries/{name}.html",
                caption=f"../workflow/report/{name}_gallery.rst",
                category=entry.category,
                labels=labels(entry, "gallery"),
            )
            for name, entry in GALLERIES.items()
        ],
    log:
        f"logs/galleries/{STUDY}.log",
    benchmark:
        f"logs/galleries/{STUDY}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
    params:
        tables=subpath(input[0], parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Writing galleries"
    shell:
        "python -m hnclip.report.galleries {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"


rule pages:
    input:
        rules.collect.output,
        study=f"results/{STUDY}/study.json",
        made=drawn_from,
    output:
        f"results/{STUDY}/report/first_page.html",
        [
            report(
                f"results/{STUDY}/report/{name}.html",
                caption=f"../workflow/report/{name}.rst",
                category=entry.category,
                labels=labels(entry, "page"),
            )
            for name, entry in PAGES.items()
        ],
    log:
        f"logs/pages/{STUDY}.log",
    benchmark:
        f"logs/pages/{STUDY}.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
    params:
        tables=subpath(input[0], parent=True),
        folder=subpath(output[0], parent=True),
    message:
        "Writing the report's first page"
    shell:
        "python -m hnclip.report.pages {input.study:q} {params.tables:q} {params.folder:q} > {log:q} 2>&1"
