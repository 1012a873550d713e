"""Benchmarks become manifests; their splits become pixels and tokens, once."""


localrules:
    configure_benchmark,
    configure_transform,
    configure_tokens,


rule configure_benchmark:
    output:
        "results/data/{benchmark}/config.json",
    log:
        "logs/configure_benchmark/{benchmark}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=benchmark_record,
    message:
        "Config of benchmark {wildcards.benchmark}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


for known in config["benchmarks"]:

    rule:
        name:
            f"prepare_{known}"
        input:
            config=f"results/data/{known}/config.json",
            sources=source_records(known),
            files=studies.user_files(config, known) + studies.made_files(config, known),
        output:
            [split_files.manifest_path(known, split) for split in splits(known)],
        log:
            f"logs/prepare/{known}.log",
        benchmark:
            f"logs/prepare/{known}.tsv"
        conda:
            "../envs/prepare.yaml"
        resources:
            mem_mb=growing(2000),
            runtime=growing(120),
        params:
            folder=subpath(input.config, parent=True),
            captions=studies.state_of_places(config, known),
        message:
            f"Preparing benchmark {known}"
        shell:
            "python -m hnclip.data.prepare {input.config:q} {params.folder:q} > {log:q} 2>&1"


rule configure_transform:
    output:
        "results/data/transforms/{transform}.json",
    log:
        "logs/configure_transform/{transform}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=transform_record,
    message:
        "Config of transform {wildcards.transform}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule pixels:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        transform="results/data/transforms/{transform}.json",
    output:
        "results/data/{benchmark}/{split}.{transform}.pixels.npy",
    log:
        "logs/pixels/{benchmark}/{split}.{transform}.log",
    benchmark:
        "logs/pixels/{benchmark}/{split}.{transform}.tsv"
    conda:
        "../envs/prepare.yaml"
    threads: 4
    resources:
        mem_mb=growing(4000),
        runtime=growing(240),
    message:
        "Decoding {wildcards.benchmark}/{wildcards.split} to {wildcards.transform}"
    shell:
        "python -m hnclip.data.pixels --threads {threads} {input.manifest:q} {input.transform:q} {output:q} > {log:q} 2>&1"


rule configure_tokens:
    output:
        "results/data/tokenizers/{tokens}.json",
    log:
        "logs/configure_tokens/{tokens}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=tokens_record,
    message:
        "Config of tokenizer {wildcards.tokens}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule tokens:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        tokens="results/data/tokenizers/{tokens}.json",
        files=tokens_inputs,
    output:
        "results/data/{benchmark}/{split}.{tokens}.tokens.npz",
    log:
        "logs/tokens/{benchmark}/{split}.{tokens}.log",
    benchmark:
        "logs/tokens/{benchmark}/{split}.{tokens}.tsv"
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    message:
        "Tokenising {wildcards.benchmark}/{wildcards.split} by {wildcards.tokens}"
    shell:
        "python -m hnclip.data.tokens {input.manifest:q} {input.tokens:q} {output:q} > {log:q} 2>&1"
