"""Images that two splits share, the same files and near copies: made where a benchmark leaves them out or asked for."""


rule overlap:
    input:
        one="results/data/{benchmark}/{split}.parquet",
        other="results/data/{other}/{other_split}.parquet",
    output:
        pairs="results/overlap/{benchmark}/{split}/{other}/{other_split}.parquet",
        record="results/overlap/{benchmark}/{split}/{other}/{other_split}.json",
        ids="results/overlap/{benchmark}/{split}/{other}/{other_split}.txt",
    log:
        "logs/overlap/{benchmark}/{split}/{other}/{other_split}.log",
    benchmark:
        "logs/overlap/{benchmark}/{split}/{other}/{other_split}.tsv"
    wildcard_constraints:
        other=NAME,
        other_split=NAME,
    conda:
        "../envs/prepare.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    message:
        "Images of {wildcards.benchmark}/{wildcards.split} that {wildcards.other}/{wildcards.other_split} has too"
    shell:
        "python -m hnclip.data.near_duplicates {input.one:q} {input.other:q} {output.pairs:q} {output.record:q}"
        " --ids {output.ids:q} > {log:q} 2>&1"
