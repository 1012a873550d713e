"""What a study's tables say of its data is read from these files: manifests, downloads, near copies. No torch."""

from importlib import import_module
from typing import Any

from hnclip.cell import Config
from hnclip.split_files import manifest_path, overlap_path, test_splits
from hnclip.text_encoder import encoder_files


def data_files(config: Config, used: list[str]) -> dict[str, Any]:
    """The files by what they tell, of the benchmarks that the study uses.

    manifests: of the splits that are trained and tested on, by BENCHMARK/SPLIT, for images that both have. downloads:
    by benchmark and source, the record of the download with its licence. near: by training set and test split, the
    counts of pictures that both have under other names or compressed anew; of pairs where that may be. captions: sets
    that are embedded by themselves.
    """
    trained = {name for grid in config["run"] for name in config["grids"][grid]["train"]}
    trains = {name: config["benchmarks"][name]["train"] for name in sorted(trained)}
    tests = [(name, split) for name in used for split in test_splits(config, name)]
    kinds = {name: _kind(config, name) for name in used}
    return {
        "manifests": {f"{name}/{split}": manifest_path(name, split) for name, split in [*trains.items(), *tests]},
        "downloads": {
            name: {source: f"results/downloads/{source}/fetched.json" for source in kind.SOURCES}
            for name, kind in kinds.items()
            if getattr(kind, "SOURCES", ())
        },
        "captions": caption_sets(config),
        "near": {train: found for train in trains if (found := _near(train, trains[train], tests, kinds))},
    }


def caption_sets(config: Config) -> list[dict[str, str]]:
    """The captions that a study embeds by themselves: name, encoder, and the embeddings' path."""
    return [
        {"name": name, "encoder": entry["encoder"], "path": f"results/captions/{entry['encoder']}/{name}.parquet"}
        for name, entry in sorted(config.get("captions", {}).items())
    ]


def captions_path(config: Config, name: str) -> str:
    """Where the texts of a set of captions lie: the user's file, or the manifest of BENCHMARK/SPLIT."""
    entry = config["captions"][name]
    return entry["file"] if "file" in entry else manifest_path(*entry["split"].split("/"))


def encoder_inputs(config: Config, encoder: str) -> list[str]:
    """The files of this machine that a text encoder is read from. ValueError where it is not there."""
    return encoder_files(config["encoders"][encoder]["folder"])


def caption_files(config: Config) -> list[str]:
    """The user's own files of captions that a study embeds by themselves."""
    return sorted({entry["file"] for entry in config.get("captions", {}).values() if "file" in entry})


def _near(train: str, split: str, tests: list[tuple[str, str]], kinds: dict[str, Any]) -> dict[str, str]:
    """The counts of a training set's pictures in each test split that was once taken from its source."""
    sources = getattr(kinds[train], "SOURCES", ())
    return {
        f"{name}/{test}": overlap_path(train, split, name, test).removesuffix("txt") + "json"
        for name, test in tests
        if getattr(kinds[name], "PICTURES_OF", None) in sources
    }


def _kind(config: Config, benchmark: str) -> Any:
    """The module that prepares a benchmark.

    `SOURCES` there: the published data sets (`hnclip.data.sources`) that it is made from. `PICTURES_OF`: the one that
    its pictures were once taken from, if they now have other names and bytes.
    """
    return import_module(f"hnclip.data.prepare.{config['benchmarks'][benchmark]['kind']}")
