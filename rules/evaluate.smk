"""Trained cells on benchmarks that they were not trained on."""


localrules:
    configure_target,


rule configure_target:
    output:
        "results/{study}/targets/{backbone}/{benchmark}{cached}.json",
    log:
        "logs/configure_target/{study}/{backbone}/{benchmark}{cached}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=target_record,
    message:
        "Config of the transfer to {wildcards.benchmark}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule evaluate:
    input:
        weights="results/{study}/runs/{cell}/weights.safetensors",
        record="results/{study}/runs/{cell}/run.json",
        target=target_file,
        files=target_inputs,
    output:
        "results/{study}/runs/{cell}/eval/{benchmark}.parquet",
    log:
        "logs/evaluate/{study}/{cell}/{benchmark}.log",
    benchmark:
        "logs/evaluate/{study}/{cell}/{benchmark}.tsv"
    conda:
        "../envs/train.yaml"
    threads: cell_threads
    resources:
        mem_mb=memory,
        runtime=evaluate_minutes,
        gpu=gpus,
    params:
        folder=subpath(input.weights, parent=True),
    message:
        "Evaluating {wildcards.cell} on {wildcards.benchmark}"
    shell:
        "exec python -m hnclip.launch hnclip.evaluate {params.folder:q} {input.target:q} {output:q} > {log:q} 2>&1"
