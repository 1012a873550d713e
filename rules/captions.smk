"""Captions embedded by themselves, by a text encoder: their geometry needs no image."""

from hnclip import study_data


localrules:
    configure_encoder,


rule configure_encoder:
    output:
        "results/captions/{encoder}/config.json",
    log:
        "logs/configure_encoder/{encoder}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=lambda wildcards: canonical(config["encoders"][wildcards.encoder]),
    message:
        "Config of encoder {wildcards.encoder}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule embed_captions:
    input:
        encoder="results/captions/{encoder}/config.json",
        captions=lambda wildcards: study_data.captions_path(config, wildcards.captions),
        files=encoder_inputs,
    output:
        "results/captions/{encoder}/{captions}.parquet",
    log:
        "logs/embed_captions/{encoder}/{captions}.log",
    benchmark:
        "logs/embed_captions/{encoder}/{captions}.tsv"
    wildcard_constraints:
        encoder=NAME,
        captions=NAME,
    conda:
        "../envs/train.yaml"
    threads: 4
    resources:
        mem_mb=growing(4000),
        runtime=growing(240),
        gpu=gpus,
    message:
        "Embedding the captions {wildcards.captions} with {wildcards.encoder}"
    shell:
        "exec python -m hnclip.launch hnclip.embed_captions {input.encoder:q} {input.captions:q} {output:q} > {log:q} 2>&1"
