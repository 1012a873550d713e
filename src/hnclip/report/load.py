"""The collected tables of one study, and what its config says of them."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas

from hnclip import store

CELL = ("backbone", "train", "framework", "loss", "fraction", "seed")
ZERO_SHOT = "zero_shot"
SCORING = "scoring"  # the column of ranks that says by which score a gallery was ordered
COSINE = "cosine"  # the scoring that every comparison is made under
TABLES = ("ranks", "epochs", "runs", "overlap", "sources")
OVERLAP = ("train", "target", "images", "shared", "share", "near")
SOURCES = ("benchmark", "source", "licence", "noncommercial")


@dataclass(frozen=True)
class ReportOptions:
    """What the report prints: the K of recall@K, how many bootstrap draws, and the intervals' confidence (0..1)."""

    ks: tuple[int, ...] = (1, 5, 10, 25, 50)
    bootstrap: int = 2000
    confidence: float = 0.95


@dataclass(frozen=True)
class Study:
    """A study as the report reads it: its config, one row a query and cell, one row an epoch, one row a run.

    overlap: one row a training set and test split, with their images in common. sources: one row a benchmark and
    published data set that it was made from. choices: the settings tried for a tuned loss and the one chosen, by
    (backbone, train, framework, loss, fraction). record: study.json whole, with the paths of what was made.
    """

    config: dict[str, Any]
    ranks: pandas.DataFrame
    epochs: pandas.DataFrame
    runs: pandas.DataFrame
    overlap: pandas.DataFrame
    sources: pandas.DataFrame
    choices: dict[tuple, dict[str, Any]] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def embeddings(self) -> list[dict[str, str]]:
        """The frozen backbones' embeddings of every test split: backbone, benchmark, split, path."""
        return self.record.get("embeddings", [])

    @cached_property
    def ranks_of(self) -> dict[tuple, pandas.DataFrame]:
        """The ranks by cosine of each (backbone, train, framework, loss, fraction, target), all seeds; found once."""
        keys = ["backbone", "train", "framework", "loss", "fraction", "target"]
        return dict(iter(self.ranks[self.ranks[SCORING] == COSINE].groupby(keys, sort=False)))

    @cached_property
    def rescored_of(self) -> dict[tuple, pandas.DataFrame]:
        """The ranks under every other scoring, by the same keys and the scoring."""
        keys = ["backbone", "train", "framework", "loss", "fraction", "target", SCORING]
        return dict(iter(self.ranks[self.ranks[SCORING] != COSINE].groupby(keys, sort=False)))

    @cached_property
    def counted(self) -> dict[tuple, Any]:
        """Hits that were counted already, by what was asked: tables and figures ask for the same ones."""
        return {}

    @cached_property
    def sizes(self) -> dict[str, dict[str, tuple[int, int]]]:
        """(queries, gallery) of each target and direction."""
        found = self.ranks.groupby(["target", "direction"]).agg({"query": "nunique", "gallery": "first"})
        sizes: dict[str, dict[str, tuple[int, int]]] = {}
        for (target, direction), row in found.iterrows():
            sizes.setdefault(target, {})[direction] = (int(row["query"]), int(row["gallery"]))
        return sizes

    def images(self, target: str) -> int:
        """How many images a target has; of captions there may be more."""
        return min(min(counts) for counts in self.sizes[target].values())

    @cached_property
    def seen(self) -> dict[tuple[str, str], tuple[int, int]]:
        """(images that were trained on, images) of each (training set, target), where there are any."""
        rows = self.overlap[self.overlap["shared"] > 0]
        keys = zip(rows["train"], rows["target"], strict=True)
        return dict(zip(keys, zip(rows["shared"], rows["images"], strict=True), strict=True))

    @property
    def options(self) -> ReportOptions:
        given = self.config.get("report", {})
        known = {name: given[name] for name in ("ks", "bootstrap", "confidence") if name in given}
        if "ks" in known:
            known["ks"] = tuple(sorted(known["ks"]))
        return ReportOptions(**known)


def read_study(study_json: Path, tables: Path, home: Path = Path()) -> Study:
    """The study whose collected tables lie in `tables`; relative paths in its record start in `home`.

    FileNotFoundError names every one that is missing.
    """
    paths = {name: Path(tables) / f"{name}.parquet" for name in TABLES}
    missing = [str(path) for path in (Path(study_json), *paths.values()) if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"missing: {', '.join(missing)}; "
            f"write the tables with `python -m hnclip.report.collect {study_json} {tables}`"
        )
    record = store.read_json(study_json)
    frames = {name: pandas.read_parquet(path) for name, path in paths.items()}
    choices = {tuple(entry["of"]): store.read_json(home / entry["path"]) for entry in record.get("choices", [])}
    return Study(record["config"], choices=choices, record=record, **frames)


def named(config: dict[str, Any], *axes: str) -> list[str]:
    """What the study's grids list under these axes, each name once, in the order of the config."""
    grids = [config["grids"][name] for name in config["run"]]
    return list(dict.fromkeys(name for axis in axes for grid in grids for name in grid.get(axis, [])))


def test_targets(study: Study) -> list[str]:
    """The test splits that were ranked, such as `scenes/test`: benchmarks trained on first, then transfer ones."""
    found = [
        f"{benchmark}/{split}"
        for benchmark in named(study.config, "train", "transfer")
        for split in study.config["benchmarks"][benchmark]["test"]
    ]
    return [target for target in found if target in study.sizes]
