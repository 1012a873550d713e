"""Cells: each has a folder, which its training fills from its config."""


localrules:
    configure,


rule configure:
    output:
        "results/{study}/runs/{cell}/config.json",
    log:
        "logs/configure/{study}/{cell}.log",
    wildcard_constraints:
        cell=tuned(False),
    conda:
        "../envs/prepare.yaml"
    params:
        record=cell_record,
    message:
        "Config of {wildcards.cell}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


# exec: a signal to the whole job ends the shell at once; without one, Snakemake waits until the trainer has saved.
rule train:
    input:
        config="results/{study}/runs/{cell}/config.json",
        files=cell_inputs,
    output:
        weights="results/{study}/runs/{cell}/weights.safetensors",
        log="results/{study}/runs/{cell}/log.parquet",
        record="results/{study}/runs/{cell}/run.json",
        ranks="results/{study}/runs/{cell}/ranks.parquet",
    log:
        "logs/train/{study}/{cell}.log",
    benchmark:
        "logs/train/{study}/{cell}.tsv"
    conda:
        "../envs/train.yaml"
    threads: train_threads
    resources:
        mem_mb=train_memory,
        runtime=train_minutes,
        gpu=train_gpus,
        nodes=lambda wildcards: processes(wildcards)[1],
        mpi=over_nodes(lambda count, nodes, threads: "srun"),
        tasks=over_nodes(lambda count, nodes, threads: count * nodes),
        tasks_per_gpu=over_nodes(lambda count, nodes, threads: 0),
        cpus_per_task=over_nodes(lambda count, nodes, threads: threads),
        slurm_extra=over_nodes(node_options),
    params:
        folder=subpath(output.weights, parent=True),
    message:
        "Training {wildcards.cell}"
    shell:
        "exec python -m hnclip.launch hnclip.train {input.config:q} {params.folder:q} > {log:q} 2>&1"
