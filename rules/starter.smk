"""The embedded backbone, rebuilt: `snakemake starter`. Its weights ship with the package, so no study needs this."""


rule starter:
    output:
        weights="results/starter/tiny.safetensors",
        record="results/starter/tiny.json",
    log:
        "logs/starter.log",
    benchmark:
        "logs/starter.tsv"
    conda:
        "../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=growing(3000),
        runtime=growing(120),
    message:
        "Pre-training the embedded backbone on short captions of drawn scenes (about ten minutes on a free core)"
    shell:
        "python -m hnclip.starter {output.weights:q} > {log:q} 2>&1"
