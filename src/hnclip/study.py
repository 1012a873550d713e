"""A study's record: what its tables are made from. No torch.

`python -m hnclip.study SOURCES.json OUT.json` writes it from `sources(config)`.
"""

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from hnclip import cell as cells
from hnclip import inputs, split_files
from hnclip.caption_places import is_single, state_of
from hnclip.cell import Config
from hnclip.command import run
from hnclip.packages import lasting, package_hash, packages, record_path
from hnclip.store import read_json, sha256_of, write_json
from hnclip.study_data import caption_files, data_files
from hnclip.study_runs import runs
from hnclip.tower_files import tower_files
from hnclip.tuning import is_tuned


def narrow(config: Config) -> Config:
    """The config without the entries that no cell of the study uses, so that they cannot make it run again."""
    grids = {name: config["grids"][name] for name in config["run"]}
    used = {
        "grids": set(grids),
        "backbones": {name for axes in grids.values() for name in axes["backbones"]},
        "benchmarks": {name for axes in grids.values() for name in [*axes["train"], *axes.get("transfer", [])]},
        "frameworks": {name for axes in grids.values() for name in axes["frameworks"]},
        "losses": {name for axes in grids.values() for name in axes["losses"]},
        **_used_inputs(config, grids),
    }
    audited = any(axes.get("audit") for axes in grids.values())
    used["losses"] |= {config["audit"][side] for side in ("plain", "boosted")} if audited else set()
    used["backbones"] |= {config["segments"][name]["backbone"] for name in used["segments"] & set(config["segments"])}
    kept = {
        section: {name: entry for name, entry in config[section].items() if name in names}
        for section, names in used.items()
    }
    needed = {"audit": audited, "tuning": any(is_tuned(entry) for entry in kept["losses"].values())}
    unused = [section for section, wanted in needed.items() if not wanted]
    return {section: value for section, value in {**config, **kept}.items() if section not in unused}


def _used_inputs(config: Config, grids: Config) -> dict[str, set[str]]:
    """The entries of regions, edges and lexicons that the grids' frameworks train on."""
    found: dict[str, set[str]] = {"segments": set(), "edges": set(), "lexicons": set()}
    for axes in grids.values():
        for framework in (config["frameworks"][name] for name in axes["frameworks"] if name in config["frameworks"]):
            wanted = inputs.wanted(framework)
            found["edges"] |= {wanted["edges"]} if "edges" in wanted else set()
            found["lexicons"] |= {wanted["lexicon"]} if "lexicon" in wanted else set()
            recipe = {**config["recipe"], **framework.get("recipe", {})}
            if inputs.needs_segments(framework) or inputs.filters_by_segments(recipe):
                trained = [config["benchmarks"][name] for name in axes["train"] if name in config["benchmarks"]]
                found["segments"] |= {entry["segments"] for entry in trained if "segments" in entry}
    return found


def evaluated(config: Config) -> list[dict[str, str]]:
    """Each backbone, benchmark and split that a cell of the study is tested on, in order."""
    pairs = set()
    for cell in cells.grid(config):
        pairs.update((cell.backbone, benchmark) for benchmark in [cell.train, *cells.targets(config, cell)])
    return [
        {"backbone": backbone, "benchmark": benchmark, "split": split}
        for backbone, benchmark in sorted(pairs)
        for split in split_files.test_splits(config, benchmark)
    ]


def user_files(config: Config, benchmark: str) -> list[str]:
    """The user's own files that a benchmark is prepared from, images aside, and folders and shards of captions."""
    options = config["benchmarks"][benchmark]["options"]
    captions = options.get("captions")
    table = captions if isinstance(captions, str) and is_single(captions) else None
    named = [table, options.get("deb"), options.get("file"), *(options.get("split_lists") or {}).values()]
    named.append(options.get("exclude"))
    return [path for path in named if isinstance(path, str) and not split_files.parse_overlap(path)]


def user_places(config: Config, benchmark: str) -> list[str]:
    """The folder, the shard or the pattern of files that a benchmark's captions are read from, if it is no table."""
    captions = config["benchmarks"][benchmark]["options"].get("captions")
    return [captions] if isinstance(captions, str) and not is_single(captions) else []


def state_of_places(config: Config, benchmark: str) -> str:
    """A text that changes with the files of these places; empty where there are none, or they are not there."""
    try:
        return " ".join(map(state_of, user_places(config, benchmark)))
    except (OSError, ValueError):  # the check names what is missing
        return ""


def made_files(config: Config, benchmark: str) -> list[str]:
    """The lists of images to leave out that the workflow makes itself, from other benchmarks (rules/overlap.smk)."""
    path = config["benchmarks"][benchmark]["options"].get("exclude")
    return [path] if isinstance(path, str) and split_files.parse_overlap(path) else []


def segments_files(config: Config, segments: str) -> list[str]:
    """The user's own files that regions are read from or found with, if any; a model of the hub is none."""
    entry = config["segments"][segments]
    path = entry.get("options", {}).get({"json": "path", "sam": "model"}.get(entry["kind"]))
    if not isinstance(path, str):
        return []
    if entry["kind"] == "sam":
        if Path(path).is_dir():
            return [str(file) for file in sorted(Path(path).iterdir()) if file.is_file()]
        return [path] if path.startswith(("/", ".", "~")) else []
    return [path]


def sources(config: Config) -> dict[str, Any]:
    """All that decides a study's results: its config, narrowed, and the SHA-256 of each file and package that it names.

    Downloads are not among it: where they come from decides nothing, and a lock holds their hashes (hnclip.data.lock).

    The tables depend on it directly, so that they are wanted again after a change of the user's files even where a
    run failed in between and took the intermediate files with it. Raises OSError where a file cannot be read.
    """
    used = {section: entries for section, entries in narrow(config).items() if section != "sources"}
    paths = [path for name in used["benchmarks"] for path in user_files(config, name)]
    paths += [path for entry in used["backbones"].values() for path in lasting(entry, tower_files(entry))]
    paths += [path for name in used["segments"] for path in segments_files(config, name)]
    paths += caption_files(config)
    held = {record_path(name): package_hash(name) for entry in used["backbones"].values() for name in packages(entry)}
    places = {path: state_of(path) for name in used["benchmarks"] for path in user_places(config, name)}
    own = {path: _sha256(path) for path in sorted(set(paths) - set(held))}
    return {"config": used, "files": {**own, **held, **places}}


def _sha256(path: str) -> str:
    state = Path(path).stat()
    return _in_state(path, state.st_mtime_ns, state.st_size)


@lru_cache
def _in_state(path: str, mtime: int, size: int) -> str:
    """The hash of a file in this state: one reading serves all of Snakemake's questions."""
    return sha256_of(path)


def record(config: Config, files: dict[str, str] | None = None) -> dict[str, Any]:
    """The config, the user's files, each cell's folder and files, the frozen backbones' ranks and embeddings, the data.

    Beside them how tuned losses came to their settings, embeddings by trained cells, and audits of gradients. The data
    are manifests, for images that are both trained and tested on, and licences of what was downloaded.
    """
    frozen = evaluated(config)
    return {
        "config": config,
        "files": files or {},
        **runs(config),
        "zero_shot": [{**split, "ranks": split_files.zero_shot_path(**split)} for split in frozen],
        "embeddings": [{**split, "path": split_files.embeddings_path(**split)} for split in frozen],
        **data_files(config, list(narrow(config)["benchmarks"])),
    }


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    write_json(target, record(**read_json(source)))


if __name__ == "__main__":
    run(main)
