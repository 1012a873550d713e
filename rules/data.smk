"""Benchmarks become manifests; their splits become pixels and tokens, once."""


localrules:
    configure_benchmark,
    configure_making,


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
            files=studies.user_files(config, known),
        output:
            [cells.manifest_path(known, split) for split in splits(known)],
        log:
            f"logs/prepare/{known}.log",
        benchmark:
            f"logs/prepare/{known}.tsv"
        conda:
            "../envs/prepare.yaml"
        resources:
            mem_mb=2000,
            runtime=120,
        params:
            folder=subpath(input.config, parent=True),
        message:
            f"Preparing benchmark {known}"
        shell:
            "python -m hnclip.data.prepare {input.config:q} {params.folder:q} > {log:q} 2>&1"


rule configure_making:
    output:
        "results/data/makings/{making}.json",
    log:
        "logs/configure_making/{making}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=making_record,
    message:
        "Config of the caches {wildcards.making}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


for making, transform, tokens in makings():

    rule:
        name:
            f"cache_{making}"
        input:
            manifest="results/data/{benchmark}/{split}.parquet",
            making=f"results/data/makings/{making}.json",
        output:
            pixels=f"results/data/{{benchmark}}/{{split}}.{transform}.pixels.npy",
            tokens=f"results/data/{{benchmark}}/{{split}}.{tokens}.tokens.npz",
        log:
            f"logs/cache/{{benchmark}}/{{split}}.{making}.log",
        benchmark:
            f"logs/cache/{{benchmark}}/{{split}}.{making}.tsv"
        conda:
            "../envs/train.yaml"
        resources:
            mem_mb=2000,
            runtime=120,
        message:
            "Decoding and tokenising {wildcards.benchmark}/{wildcards.split}"
        shell:
            "python -m hnclip.data.cache {input.manifest:q} {input.making:q} {output.pixels:q} {output.tokens:q}"
            " > {log:q} 2>&1"
