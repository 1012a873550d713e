"""Frozen backbones: embeddings of a split, and its zero-shot ranks."""


localrules:
    configure_backbone,


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


rule embed:
    input:
        backbone="results/embeddings/{backbone}/config.json",
        split=split_files,
        weights=backbone_weights,
    output:
        embeddings="results/embeddings/{backbone}/{benchmark}/{split}.parquet",
        ranks="results/embeddings/{backbone}/{benchmark}/{split}.ranks.parquet",
    log:
        "logs/embed/{backbone}/{benchmark}/{split}.log",
    benchmark:
        "logs/embed/{backbone}/{benchmark}/{split}.tsv"
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=memory,
        runtime=60,
        gpu=gpus,
    message:
        "Embedding {wildcards.benchmark}/{wildcards.split} with the frozen {wildcards.backbone}"
    shell:
        "python -m hnclip.embed {input.backbone:q} {input.split:q} {output.embeddings:q} {output.ranks:q}"
        " > {log:q} 2>&1"
