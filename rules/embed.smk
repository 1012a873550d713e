"""Frozen backbones: embeddings of a split, and its zero-shot ranks. Trained cells: embeddings."""


# Where jobs run elsewhere, there is often no network: published weights are fetched by the machine that runs Snakemake.
localrules:
    configure_backbone,
    configure_package,
    fetch_weights,
    configure_embedded,


rule configure_backbone:
    output:
        "results/embeddings/{backbone}/config.json",
    log:
        "logs/configure_backbone/{backbone}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=backbone_record,
    message:
        "Config of backbone {wildcards.backbone}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule configure_package:
    output:
        "results/packages/{package}.json",
    log:
        "logs/configure_package/{package}.log",
    wildcard_constraints:
        package=NAME,
    conda:
        "../envs/prepare.yaml"
    params:
        record=package_record,
    message:
        "Hash of the model in package {wildcards.package}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule fetch_weights:
    input:
        "results/embeddings/{backbone}/config.json",
    output:
        "results/embeddings/{backbone}/fetched.json",
    log:
        "logs/fetch_weights/{backbone}.log",
    conda:
        "../envs/train.yaml"
    message:
        "Fetching the weights of {wildcards.backbone}"
    shell:
        "python -m hnclip.models.fetch {input:q} {output:q} > {log:q} 2>&1"


rule embed:
    input:
        backbone="results/embeddings/{backbone}/config.json",
        split=files_of_split,
        weights=backbone_weights,
    output:
        embeddings="results/embeddings/{backbone}/{benchmark}/{split}.parquet",
        ranks="results/embeddings/{backbone}/{benchmark}/{split}.ranks.parquet",
    log:
        "logs/embed/{backbone}/{benchmark}/{split}.log",
    benchmark:
        "logs/embed/{backbone}/{benchmark}/{split}.tsv"
    wildcard_constraints:
        backbone=among_backbones(given=False),
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=memory,
        runtime=embed_minutes,
        gpu=gpus,
    message:
        "Embedding {wildcards.benchmark}/{wildcards.split} with the frozen {wildcards.backbone}"
    shell:
        "exec python -m hnclip.launch hnclip.embed {input.backbone:q} {input.split:q}"
        " {output.embeddings:q} {output.ranks:q} > {log:q} 2>&1"


rule embed_given:
    input:
        backbone="results/embeddings/{backbone}/config.json",
        manifest="results/data/{benchmark}/{split}.parquet",
        file=given_embeddings,
    output:
        embeddings="results/embeddings/{backbone}/{benchmark}/{split}.parquet",
        ranks="results/embeddings/{backbone}/{benchmark}/{split}.ranks.parquet",
    log:
        "logs/embed_given/{backbone}/{benchmark}/{split}.log",
    benchmark:
        "logs/embed_given/{backbone}/{benchmark}/{split}.tsv"
    wildcard_constraints:
        backbone=among_backbones(given=True),
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    message:
        "Embeddings of {wildcards.benchmark}/{wildcards.split} from the file of {wildcards.backbone}"
    shell:
        "python -m hnclip.embed_given {input.backbone:q} {input.manifest:q} {output.embeddings:q} {output.ranks:q}"
        " > {log:q} 2>&1"


rule configure_embedded:
    output:
        "results/{study}/runs/{cell}/embeddings/{benchmark}.json",
    log:
        "logs/configure_embedded/{study}/{cell}/{benchmark}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=embedded_record,
    message:
        "Which splits of {wildcards.benchmark} {wildcards.cell} embeds"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule embed_cell:
    input:
        weights="results/{study}/runs/{cell}/weights.safetensors",
        record="results/{study}/runs/{cell}/run.json",
        splits="results/{study}/runs/{cell}/embeddings/{benchmark}.json",
        files=embedded_inputs,
    output:
        "results/{study}/runs/{cell}/embeddings/{benchmark}.parquet",
    log:
        "logs/embed_cell/{study}/{cell}/{benchmark}.log",
    benchmark:
        "logs/embed_cell/{study}/{cell}/{benchmark}.tsv"
    conda:
        "../envs/train.yaml"
    threads: cell_threads
    resources:
        mem_mb=memory,
        runtime=embed_cell_minutes,
        gpu=gpus,
    params:
        folder=subpath(input.weights, parent=True),
    message:
        "Embedding {wildcards.benchmark} with {wildcards.cell}"
    shell:
        "exec python -m hnclip.launch hnclip.embed_run {params.folder:q} {input.splits:q} {output:q} > {log:q} 2>&1"
