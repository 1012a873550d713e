"""Audits: gradients of the plain and of the boosted loss along a cell's training."""


localrules:
    configure_audit,


rule configure_audit:
    output:
        "results/{study}/audit.json",
    log:
        "logs/configure_audit/{study}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=audit_record,
    message:
        "Config of the audits"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule audit:
    input:
        config="results/{study}/runs/{cell}/config.json",
        audit="results/{study}/audit.json",
        weights="results/{study}/runs/{cell}/weights.safetensors",
        files=cell_inputs,
    output:
        "results/{study}/runs/{cell}/audit.parquet",
    log:
        "logs/audit/{study}/{cell}.log",
    benchmark:
        "logs/audit/{study}/{cell}.tsv"
    conda:
        "../envs/train.yaml"
    threads: cell_threads
    resources:
        mem_mb=memory,
        runtime=audit_minutes,
        gpu=gpus,
    params:
        folder=subpath(input.weights, parent=True),
    message:
        "Auditing the gradients of {wildcards.cell}"
    shell:
        "exec python -m hnclip.launch hnclip.audit {input.config:q} {input.audit:q} {params.folder:q} {output:q}"
        " > {log:q} 2>&1"
