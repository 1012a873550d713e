"""Further inputs of frameworks: regions, crops, edge maps, filtered captions. Each is made once a split."""


localrules:
    configure_segments,
    configure_edges,
    configure_lexicon,


rule configure_segments:
    output:
        "results/data/segments/{segments}.json",
    log:
        "logs/configure_segments/{segments}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=segments_record,
    message:
        "Config of regions {wildcards.segments}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule configure_edges:
    output:
        "results/data/edges/{edges}.json",
    log:
        "logs/configure_edges/{edges}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=edges_record,
    message:
        "Config of edge maps {wildcards.edges}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule configure_lexicon:
    output:
        "results/data/lexicons/{lexicon}.json",
    log:
        "logs/configure_lexicon/{lexicon}.log",
    conda:
        "../envs/prepare.yaml"
    params:
        record=lexicon_record,
    message:
        "Config of lexicon {wildcards.lexicon}"
    shell:
        "printf '%s\\n' {params.record:q} > {output:q} 2> {log:q}"


rule first_sentence:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        tokens="results/data/tokenizers/{tokens}.json",
        files=tokens_inputs,
    output:
        data="results/data/{benchmark}/{split}.{tokens}.first.npz",
        record="results/data/{benchmark}/{split}.{tokens}.first.json",
    log:
        "logs/first_sentence/{benchmark}/{split}.{tokens}.first.log",
    benchmark:
        "logs/first_sentence/{benchmark}/{split}.{tokens}.first.tsv"
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    message:
        "First sentences of {wildcards.benchmark}/{wildcards.split}"
    shell:
        "python -m hnclip.data.derive.first_sentence {input.manifest:q} {input.tokens:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule segments:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        entry="results/data/segments/{segments}.json",
        files=segments_inputs,
    output:
        data="results/data/{benchmark}/{split}.{segments}.segments.parquet",
        record="results/data/{benchmark}/{split}.{segments}.segments.json",
    log:
        "logs/segments/{benchmark}/{split}.{segments}.segments.log",
    benchmark:
        "logs/segments/{benchmark}/{split}.{segments}.segments.tsv"
    wildcard_constraints:
        segments=cut(sharded=False),
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=segments_memory,
        runtime=segments_minutes,
        gpu=gpus,
    message:
        "Regions of {wildcards.benchmark}/{wildcards.split} by {wildcards.segments}"
    shell:
        "exec python -m hnclip.launch hnclip.data.derive.segments {input.manifest:q} {input.entry:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule segments_shard:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        entry="results/data/segments/{segments}.json",
        files=segments_inputs,
    output:
        data="results/data/{benchmark}/{split}.{segments}.shards/{shard}-of-{shards}.parquet",
        record="results/data/{benchmark}/{split}.{segments}.shards/{shard}-of-{shards}.json",
    log:
        "logs/segments/{benchmark}/{split}.{segments}.{shard}-of-{shards}.log",
    benchmark:
        "logs/segments/{benchmark}/{split}.{segments}.{shard}-of-{shards}.tsv"
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=segments_memory,
        runtime=segments_minutes,
        gpu=gpus,
    message:
        "Regions of {wildcards.benchmark}/{wildcards.split} by {wildcards.segments}, {wildcards.shard} of {wildcards.shards}"
    shell:
        "exec python -m hnclip.launch hnclip.data.derive.segments --shard {wildcards.shard} {wildcards.shards}"
        " {input.manifest:q} {input.entry:q} {output.data:q} {output.record:q} > {log:q} 2>&1"


rule join_segments:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        shards=segments_shards,
    output:
        data="results/data/{benchmark}/{split}.{segments}.segments.parquet",
        record="results/data/{benchmark}/{split}.{segments}.segments.json",
    log:
        "logs/segments/{benchmark}/{split}.{segments}.segments.log",
    benchmark:
        "logs/segments/{benchmark}/{split}.{segments}.segments.tsv"
    wildcard_constraints:
        segments=cut(sharded=True),
    conda:
        "../envs/prepare.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    message:
        "Joining the regions of {wildcards.benchmark}/{wildcards.split} by {wildcards.segments}"
    shell:
        "python -m hnclip.data.derive.join_segments {input.manifest:q} {input.shards:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule crops:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        segments="results/data/{benchmark}/{split}.{segments}.segments.parquet",
        transform="results/data/transforms/{transform}.json",
    output:
        data="results/data/{benchmark}/{split}.{segments}.{transform}.crops.npy",
        record="results/data/{benchmark}/{split}.{segments}.{transform}.crops.json",
    log:
        "logs/crops/{benchmark}/{split}.{segments}.{transform}.crops.log",
    benchmark:
        "logs/crops/{benchmark}/{split}.{segments}.{transform}.crops.tsv"
    conda:
        "../envs/prepare.yaml"
    threads: 4
    resources:
        mem_mb=growing(4000),
        runtime=growing(240),
    message:
        "Crops of {wildcards.benchmark}/{wildcards.split}"
    shell:
        "python -m hnclip.data.derive.crops --threads {threads} {input.manifest:q} {input.segments:q} {input.transform:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule sentences:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        segments="results/data/{benchmark}/{split}.{segments}.segments.parquet",
        tokens="results/data/tokenizers/{tokens}.json",
        files=tokens_inputs,
    output:
        data="results/data/{benchmark}/{split}.{segments}.{tokens}.sentences.npz",
        record="results/data/{benchmark}/{split}.{segments}.{tokens}.sentences.json",
    log:
        "logs/sentences/{benchmark}/{split}.{segments}.{tokens}.sentences.log",
    benchmark:
        "logs/sentences/{benchmark}/{split}.{segments}.{tokens}.sentences.tsv"
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    message:
        "Sentences of the crops of {wildcards.benchmark}/{wildcards.split}"
    shell:
        "python -m hnclip.data.derive.sentences {input.manifest:q} {input.segments:q} {input.tokens:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule edges:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        edges="results/data/edges/{edges}.json",
        transform="results/data/transforms/{transform}.json",
    output:
        data="results/data/{benchmark}/{split}.{edges}.{transform}.edges.npy",
        record="results/data/{benchmark}/{split}.{edges}.{transform}.edges.json",
    log:
        "logs/edges/{benchmark}/{split}.{edges}.{transform}.edges.log",
    benchmark:
        "logs/edges/{benchmark}/{split}.{edges}.{transform}.edges.tsv"
    conda:
        "../envs/prepare.yaml"
    threads: 4
    resources:
        mem_mb=growing(6000),
        runtime=growing(240),
    message:
        "Edge maps of {wildcards.benchmark}/{wildcards.split} by {wildcards.edges}"
    shell:
        "python -m hnclip.data.derive.edges --threads {threads} {input.manifest:q} {input.edges:q} {input.transform:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule edge_crops:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        segments="results/data/{benchmark}/{split}.{segments}.segments.parquet",
        edges="results/data/edges/{edges}.json",
        transform="results/data/transforms/{transform}.json",
    output:
        data="results/data/{benchmark}/{split}.{edges}.{segments}.{crops}.{transform}.edge_crops.npy",
        record="results/data/{benchmark}/{split}.{edges}.{segments}.{crops}.{transform}.edge_crops.json",
    log:
        "logs/edge_crops/{benchmark}/{split}.{edges}.{segments}.{crops}.{transform}.edge_crops.log",
    benchmark:
        "logs/edge_crops/{benchmark}/{split}.{edges}.{segments}.{crops}.{transform}.edge_crops.tsv"
    conda:
        "../envs/prepare.yaml"
    threads: 4
    resources:
        mem_mb=growing(6000),
        runtime=growing(240),
    message:
        "Crops of the edge maps of {wildcards.benchmark}/{wildcards.split}"
    shell:
        "python -m hnclip.data.derive.edge_crops --threads {threads} {input.manifest:q} {input.segments:q} {input.edges:q} {input.transform:q}"
        " {wildcards.crops}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule lexicon:
    input:
        manifest="results/data/{benchmark}/{split}.parquet",
        entry="results/data/lexicons/{lexicon}.json",
    output:
        data="results/data/{benchmark}/{split}.{lexicon}.lexicon.parquet",
        record="results/data/{benchmark}/{split}.{lexicon}.lexicon.json",
    log:
        "logs/lexicon/{benchmark}/{split}.{lexicon}.lexicon.log",
    benchmark:
        "logs/lexicon/{benchmark}/{split}.{lexicon}.lexicon.tsv"
    conda:
        "../envs/prepare.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(1440),
    message:
        "Captions of {wildcards.benchmark}/{wildcards.split} filtered by {wildcards.lexicon}"
    shell:
        "python -m hnclip.data.derive.lexicon {input.manifest:q} {input.entry:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"


rule filtered:
    input:
        captions="results/data/{benchmark}/{split}.{lexicon}.lexicon.parquet",
        tokens="results/data/tokenizers/{tokens}.json",
        files=tokens_inputs,
    output:
        data="results/data/{benchmark}/{split}.{lexicon}.{tokens}.filtered.npz",
        record="results/data/{benchmark}/{split}.{lexicon}.{tokens}.filtered.json",
    log:
        "logs/filtered/{benchmark}/{split}.{lexicon}.{tokens}.filtered.log",
    benchmark:
        "logs/filtered/{benchmark}/{split}.{lexicon}.{tokens}.filtered.tsv"
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    message:
        "Filtered captions of {wildcards.benchmark}/{wildcards.split} as tokens"
    shell:
        "python -m hnclip.data.derive.filtered {input.captions:q} {input.tokens:q}"
        " {output.data:q} {output.record:q} > {log:q} 2>&1"
