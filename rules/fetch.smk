"""Published data sets are downloaded, checked against their hashes and unpacked, once; some files a person has to bring."""


# Where jobs run elsewhere, there is often no network: downloads stay on the machine that runs Snakemake.
localrules:
    configure_source,
    fetch,


rule configure_source:
    output:
        "results/downloads/{source}/source.json",
    log:
        "logs/configure_source/{source}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=source_record,
    message:
        "Config of source {wildcards.source}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


# Where files come from does not change what they are (their hashes are kept): another mirror runs nothing again, another
# expected hash fetches again.
rule fetch:
    input:
        config=ancient("results/downloads/{source}/source.json"),
    output:
        "results/downloads/{source}/fetched.json",
    log:
        "logs/fetch/{source}.log",
    benchmark:
        "logs/fetch/{source}.tsv"
    conda:
        "../envs/prepare.yaml"
    resources:
        mem_mb=2000,
        runtime=1440,
    params:
        folder=subpath(input.config, parent=True),
        licence=source_licence,
        hashes=source_hashes,
    message:
        "Fetching {wildcards.source}, licence {params.licence}"
    shell:
        "python -m hnclip.data.fetch {input.config:q} {params.folder:q} {output:q} > {log:q} 2>&1"
