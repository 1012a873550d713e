"""What a study's tables say of its data is read from these files: manifests, downloads, near copies. No torch."""

from importlib import import_module
from typing import Any

from hnclip.cell import Config, manifest_path, overlap_path, test_splits


def data_files(config: Config, used: list[str]) -> dict[str, Any]:
    """The files by what they tell, of the benchmarks that the study uses.

    manifests: of the splits that are trained and tested on, by BENCHMARK/SPLIT, for images that both have. downloads:
    by benchmark and source, the record of the download with its licence. near: by training set and test split, the
    counts of pictures that both have under other names or compressed anew; of pairs where that may be.
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
        "near": {train: found for train in trains if (found := _near(train, trains[train], tests, kinds))},
    }


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
