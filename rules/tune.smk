"""Tuned losses: the setting with the best validation score, and the configs of the cells that take it."""


localrules:
    choose,
    configure_tuned,


rule choose:
    input:
        choice_inputs,
    output:
        "results/{study}/choices/{tuned}.json",
    log:
        "logs/choose/{study}/{tuned}.log",
    wildcard_constraints:
        tuned=tuned(True).rpartition("/")[0],
    conda:
        "../envs/report.yaml"
    params:
        record=choice_record,
    message:
        "Choosing the setting of {wildcards.tuned}"
    shell:
        "printf '%s\\n' {params.record:q} | python -m hnclip.choose /dev/stdin {output:q} > {log:q} 2>&1"


rule configure_tuned:
    input:
        choice=choice_file,
    output:
        "results/{study}/runs/{cell}/config.json",
    log:
        "logs/configure/{study}/{cell}.log",
    wildcard_constraints:
        cell=tuned(True),
    conda:
        "../envs/report.yaml"
    params:
        record=cell_record,
    message:
        "Config of {wildcards.cell}, with the setting that was chosen"
    shell:
        "printf '%s\\n' {params.record:q} | python -m hnclip.choose /dev/stdin {output:q} --by {input.choice:q}"
        " > {log:q} 2>&1"
