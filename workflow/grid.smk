"""Which files a job needs and what it hands on: the meaning is in hnclip.cell, split_files and study. Loads no torch."""

import json
import os
import re
import sys
from functools import cache
from pathlib import Path

# In a clone the code lies beside the workflow; an installed package has both, and is found by itself.
SOURCE = [str(path) for path in [Path(workflow.basedir) / "src"] if path.is_dir()]
sys.path[:0] = SOURCE

from hnclip import cell as cells  # noqa: E402
from hnclip import split_files  # noqa: E402
from hnclip import check as checks  # noqa: E402
from hnclip import inputs  # noqa: E402
from hnclip import study as studies  # noqa: E402
from hnclip import study_data  # noqa: E402
from hnclip import study_runs  # noqa: E402
from hnclip import tuning  # noqa: E402
from hnclip import unfinished  # noqa: E402
from hnclip.data import prepare, sources  # noqa: E402
from hnclip.packages import lasting, package_hash  # noqa: E402
from hnclip.report.contents import FIGURES, GALLERIES, PAGES, TABLES  # noqa: E402
from hnclip.tokenizer_files import tokenizer_files  # noqa: E402
from hnclip.tower_files import published, tower_files  # noqa: E402

# `python` in a job is the interpreter that runs Snakemake (or that of its conda environment), and it finds hnclip.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    PYTHONPATH=os.pathsep.join(filter(None, [*SOURCE, os.environ.get("PYTHONPATH")])),
    PIP_CONSTRAINT=(Path(workflow.basedir) / "envs" / "constraints.txt").as_uri(),
)


def canonical(record):
    """The one spelling of a record, so that equal records make equal files and nothing runs again."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False)


# downloads


def source_records(benchmark):
    """The records of the downloads that a benchmark is prepared from."""
    kind = config["benchmarks"][benchmark]["kind"]
    return [f"results/downloads/{name}/{sources.RECORD}" for name in prepare.sources(kind)]


def source_record(wildcards):
    """What the download of a source depends on."""
    return canonical({"source": wildcards.source, **config["sources"].get(wildcards.source, {})})


def source_hashes(wildcards):
    """Hashes that the config expects of a source's files: others fetch again."""
    return canonical(config["sources"].get(wildcards.source, {}).get("sha256", {}))


def source_licence(wildcards):
    source = sources.source(wildcards.source)
    return source.licence + (" (non-commercial use only)" if source.noncommercial else "")


# data


def splits(benchmark):
    return split_files.all_splits(config["benchmarks"][benchmark])


def benchmark_record(wildcards):
    """What the preparation of a benchmark depends on."""
    entry = config["benchmarks"][wildcards.benchmark]
    names = splits(wildcards.benchmark)
    return canonical({"name": wildcards.benchmark, "kind": entry["kind"], "options": entry["options"], "splits": names})


def transform_record(wildcards):
    """What the pixels of a split depend on, beside its manifest."""
    return canonical(split_files.parse_transform(wildcards.transform))


def tokens_record(wildcards):
    """What the tokens of a split depend on, beside its manifest."""
    return canonical(split_files.named_tokens(config, wildcards.tokens))


def tokens_inputs(wildcards):
    """The files of this machine that a tokenizer is made from."""
    entry = split_files.named_tokens(config, wildcards.tokens)
    return lasting(entry, tokenizer_files(entry["tokenizer"]))


# further inputs of frameworks


def segments_record(wildcards):
    """What the regions of a split depend on, beside its manifest: the matching backbone with all that it is.

    Into how many shards they are cut is none of it.
    """
    entry = {"options": {}, **config["segments"][wildcards.segments]}
    entry.pop("shards", None)
    return canonical({**entry, "backbone": config["backbones"][entry["backbone"]]})


def segments_inputs(wildcards):
    """The user's own files that regions are read from or matched by."""
    entry = config["segments"][wildcards.segments]
    return studies.segments_files(config, wildcards.segments) + weights_inputs(entry["backbone"])


def segments_shards(wildcards):
    """The tables that the shards of a split's regions are."""
    shards = config["segments"][wildcards.segments]["shards"]
    folder = f"results/data/{wildcards.benchmark}/{wildcards.split}.{wildcards.segments}.shards"
    return [f"{folder}/{number}-of-{shards}.parquet" for number in range(1, shards + 1)]


def cut(sharded):
    """The pattern of the entries whose regions are found by several jobs, or else by one."""
    names = [name for name, entry in config["segments"].items() if (entry.get("shards", 1) > 1) == sharded]
    return "|".join(map(re.escape, names)) or "(?!)"


def edges_record(wildcards):
    return canonical(config["edges"][wildcards.edges])


def lexicon_record(wildcards):
    return canonical(config["lexicons"][wildcards.lexicon])


# models


def package_record(wildcards):
    """What everything that is made with the model of an installed package depends on."""
    return canonical({"package": wildcards.package, "sha256": package_hash(wildcards.package)})


def encoder_inputs(wildcards):
    """The files of this machine that a text encoder is read from."""
    return lasting(config["encoders"][wildcards.encoder], study_data.encoder_inputs(config, wildcards.encoder))


def backbone_record(wildcards):
    return canonical(config["backbones"][wildcards.backbone])


def files_of_split(wildcards):
    """Manifest, pixels and tokens of one split for one backbone."""
    paths = split_files.data_paths(config, wildcards.backbone, wildcards.benchmark, wildcards.split)
    return [paths["manifest"], paths["pixels"], paths["tokens"]]


def backbone_weights(wildcards):
    return weights_inputs(wildcards.backbone)


def given_embeddings(wildcards):
    """The user's own file of embeddings."""
    return config["backbones"][wildcards.backbone]["file"]


def among_backbones(given):
    """The pattern of the backbones whose embeddings the user gives, or else of all others."""
    names = [name for name, entry in config["backbones"].items() if (entry.get("kind") == "embeddings") == given]
    return "|".join(map(re.escape, names)) or "(?!)"


def weights_inputs(backbone):
    """Files of weights and tokenizers that the user names: others there run again what was made from them.

    Of published weights the record only says that they were fetched, so that its time runs nothing again.
    """
    entry = config["backbones"][backbone]
    fetched = [ancient(f"results/embeddings/{backbone}/fetched.json")] if published(entry) else []
    return fetched + lasting(entry, tower_files(entry))


# cells


def parsed(wildcards):
    return cells.Cell.parse(wildcards.cell)


def cell_record(wildcards):
    return canonical(cells.resolve(config, parsed(wildcards)))


def cell_inputs(wildcards):
    """Every file that a cell reads beside its config: the data, a checkpoint, the frozen backbone's embeddings."""
    cell = parsed(wildcards)
    cached = cells.is_cached(config, cell)
    files = split_files.data_files(config, cell.backbone, cell.train, splits(cell.train), cached)
    if cells.needs_embeddings(config, cell):
        split = config["benchmarks"][cell.train]["train"]
        files.append(split_files.embeddings_path(cell.backbone, cell.train, split))
    for path in cells.input_paths(config, cell).values():
        files += [path, inputs.record_path(path)]
    return files + ([] if cached else weights_inputs(cell.backbone))


def tuned(chosen):
    """The pattern of the cells whose loss takes its setting from a choice, or else of all others."""
    names = [re.escape(name) for name, entry in config["losses"].items() if tuning.is_tuned(entry)]
    among = "|".join(names) or "(?!)"
    loss = f"(?:{among})" if chosen else f"(?!(?:{among})/){NAME}"
    return rf"{NAME}/{NAME}/{NAME}/{loss}/f\d{{3}}/s\d+"


def choice_record(wildcards):
    """What the choice of a tuned loss's setting depends on, beside the runs of its settings."""
    return canonical(study_runs.choice_record(config, choosing(wildcards)))


def choosing(wildcards):
    """The tuned cell, with the seed of the choice, whose setting is chosen."""
    return cells.Cell.parse(f"{wildcards.tuned}/s{config['tuning']['seed']}")


def choice_inputs(wildcards):
    """The logs of every setting's run, and the records of what trained them."""
    runs = [cells.run_folder(config, cell) for cell in cells.setting_cells(config, choosing(wildcards)).values()]
    return [f"{run}/{name}" for run in runs for name in ("log.parquet", "run.json")]


def choice_file(wildcards):
    return cells.choice_path(config, parsed(wildcards))


def audit_record(wildcards):
    """What an audit of gradients measures, and how often."""
    chosen = config["audit"]
    entries = {side: config["losses"][chosen[side]] for side in ("plain", "boosted")}
    return canonical({**chosen, **entries})


def embedded_record(wildcards):
    return canonical(study_runs.embedded_splits(config, parsed(wildcards), wildcards.benchmark))


def embedded_inputs(wildcards):
    """The splits of a benchmark whose embeddings by this cell are kept."""
    splits = study_runs.embedded_splits(config, parsed(wildcards), wildcards.benchmark)["splits"]
    return [path for split in splits for key, path in split.items() if key != "name"]


def target_record(wildcards):
    """The test splits of a benchmark, as a cell of this backbone reads them."""
    names, cached = split_files.test_splits(config, wildcards.benchmark), bool(wildcards.cached)
    paths = [split_files.data_paths(config, wildcards.backbone, wildcards.benchmark, split, cached) for split in names]
    return canonical({"test": paths})


def target_inputs(wildcards):
    cell = parsed(wildcards)
    names = split_files.test_splits(config, wildcards.benchmark)
    return split_files.data_files(config, cell.backbone, wildcards.benchmark, names, cells.is_cached(config, cell))


def target_file(wildcards):
    cell = parsed(wildcards)
    kind = ".cached" if cells.is_cached(config, cell) else ""
    return f"{cells.study_folder(config)}/targets/{cell.backbone}/{wildcards.benchmark}{kind}.json"


# the study


@cache  # of this reading of the workflow, whose config does not change once it is checked
def study_record():
    """What the study's tables are made from: asked for by each rule that reads all cells."""
    return studies.record(config)


def study_sources(wildcards):
    return canonical(studies.sources(config))


def collected(wildcards):
    """Everything that the study's tables are made from.

    Manifests and further inputs are among it for Snakemake alone: a job that failed took its files away, and a
    missing file is made again only for a job that reads it itself.
    """
    used = studies.narrow(config)["benchmarks"]
    files = sorted({path for name in used for path in source_records(name)})
    files += [split_files.manifest_path(name, split) for name in used for split in splits(name)]
    files += sorted({path for cell in cells.grid(config) for path in cells.input_paths(config, cell).values()})
    record = study_record()
    files += sorted({path for said in ("near", "downloads") for by in record[said].values() for path in by.values()})
    files += [entry["path"] for entry in record["choices"]]
    files += [f"{entry['run']}/run.json" for choice in record["choices"] for entry in choice["cells"]]
    return files + [entry["ranks"] for entry in record["zero_shot"]] + cell_results()


def cell_results():
    """What training and evaluating the study's cells ends with.

    The study asks for it by itself: of a cell whose training failed after the tables were once made, Snakemake would
    otherwise miss nothing.
    """
    files = []
    for entry in study_record()["cells"]:
        files += [f"{entry['run']}/{name}" for name in ("run.json", "log.parquet", "ranks.parquet")] + entry["eval"]
    return files


def drawn_from(wildcards):
    """What tables, figures and galleries show beside the collected ranks: embeddings, manifests, audits."""
    record = study_record()
    kinds = ("embeddings", "cell_embeddings", "audits", "captions", "choices")
    files = [entry["path"] for kind in kinds for entry in record[kind]]
    return files + sorted(record["manifests"].values())


def results():
    """The tables, figures and pages that a study ends with."""
    folder = cells.study_folder(config)
    tables = [f"{folder}/tables/{name}.{kind}" for name in TABLES for kind in ("csv", "html", "md", "tex")]
    figures = [f"{folder}/figures/{name}.{kind}" for name in FIGURES for kind in ("html", "pdf", "png")]
    galleries = [f"{folder}/galleries/{name}.html" for name in GALLERIES]
    return tables + figures + galleries + [f"{folder}/report/{name}.html" for name in ("first_page", *PAGES)]


def labels(entry, kind):
    """How an item is called in the list of the HTML report.

    One label only: of two, Snakemake makes a switch where a second one halves the items, and fails at those without
    a counterpart.
    """
    kinds = {"table": "Table", "figure": "Figure", "gallery": "Gallery", "page": "Page"}
    number = entry.number if kind in ("table", "figure") else ""
    return {"shows": f"{number or kinds[kind]}: {entry.label}"}


STUDY = str(config.get("study"))  # a file whose path is known whole is found at once, one with a wildcard is searched
NAME = "[A-Za-z0-9][A-Za-z0-9_-]*"


wildcard_constraints:
    study=re.escape(STUDY),
    backbone=NAME,
    benchmark=rf"(?!(?:{'|'.join(checks.CONFIG_FOLDERS)})/){NAME}",
    split=NAME,
    cell=rf"{NAME}/{NAME}/{NAME}/{NAME}/f\d{{3}}/s\d+",
    transform=r"\d+-[a-z]+-[a-z]+-[a-z]+",
    tokens=r"[A-Za-z0-9][A-Za-z0-9-]*-\d+",
    segments=NAME,
    cached=r"(?:\.cached)?",
    shard=r"\d+",
    shards=r"\d+",
    edges=NAME,
    lexicon=NAME,
    source="|".join(sources.names()),
    crops=r"\d+",
