"""The grid of training cells, their folders, and what each depends on. Standard library only."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hnclip import inputs, tuning
from hnclip.split_files import data_paths, embeddings_path, manifest_path, tokens_name, transform_name

Config = dict[str, Any]


@dataclass(frozen=True, order=True)
class Cell:
    """One training run: a framework with its recipe and a loss, on a share of a benchmark, from a seed."""

    backbone: str
    train: str
    framework: str
    loss: str
    fraction: int
    seed: int

    def __str__(self) -> str:
        return f"{self.backbone}/{self.train}/{self.framework}/{self.loss}/f{self.fraction:03d}/s{self.seed}"

    @classmethod
    def parse(cls, text: str) -> "Cell":
        """The cell whose path this is; a path that is not spelled as `str(cell)` spells it is refused."""
        parts = text.split("/")
        if len(parts) == 6 and parts[4][1:].isdigit() and parts[5][1:].isdigit():
            cell = cls(*parts[:4], fraction=int(parts[4][1:]), seed=int(parts[5][1:]))
            if str(cell) == text:
                return cell
        raise ValueError(
            f"{text!r} is no cell: expected BACKBONE/TRAIN/FRAMEWORK/LOSS/fPPP/sSEED, "
            "such as tiny/scenes/longclip/hn/f100/s42"
        )


def grid(config: Config) -> set[Cell]:
    """The cells of every grid that the study runs; a cell that two grids share is one cell."""
    return {Cell(*values) for name in config["run"] for values in product(*_axes(config, name))}


def marked(config: Config, key: str) -> set[Cell]:
    """The cells of the running grids that ask for this: `audit` or `embed`."""
    return grid({**config, "run": [name for name in config["run"] if config["grids"][name].get(key)]})


def setting_cells(config: Config, cell: Cell) -> dict[str, Cell]:
    """The cells that decide at which setting this one is trained, by the setting's name; none of an untuned loss."""
    entry = config["losses"].get(cell.loss, {})
    if not tuning.is_tuned(entry):
        return {}
    seed = config["tuning"]["seed"]
    return {name: replace(cell, loss=name, seed=seed) for name in tuning.settings(cell.loss, entry)}


def trained(config: Config) -> set[Cell]:
    """Every cell that the study trains: those of its grids, and those that choose the settings of tuned losses."""
    found = grid(config)
    return found | {setting for cell in found for setting in setting_cells(config, cell).values()}


def choices(cells: Iterable[Cell], config: Config) -> set[Cell]:
    """One cell for each choice of a setting that these cells wait for: theirs with the seed of the choice."""
    seed = config.get("tuning", {}).get("seed", 0)
    return {replace(cell, seed=seed) for cell in cells if setting_cells(config, cell)}


def choice_path(config: Config, cell: Cell) -> str:
    """The record of how the setting of this tuned cell was chosen; one for all seeds."""
    return f"{study_folder(config)}/choices/{str(cell).rpartition('/')[0]}.json"


def targets(config: Config, cell: Cell) -> list[str]:
    """The benchmarks a cell is evaluated on beside its own: those its grids list under `transfer`."""
    found = set()
    values = (cell.backbone, cell.train, cell.framework, cell.loss, cell.fraction, cell.seed)
    for name in config["run"]:
        if all(value in axis for value, axis in zip(values, _axes(config, name), strict=True)):
            found.update(config["grids"][name].get("transfer", []))
    return sorted(found - {cell.train})


def _axes(config: Config, name: str) -> list[list[Any]]:
    """The values of a grid, in the order of a cell's fields."""
    axes = ("backbones", "train", "frameworks", "losses", "fractions", "seeds")
    return [config["grids"][name][axis] for axis in axes]


def study_folder(config: Config) -> str:
    return f"results/{config['study']}"


def run_folder(config: Config, cell: Cell) -> str:
    return f"{study_folder(config)}/runs/{cell}"


def is_cached(config: Config, cell: Cell) -> bool:
    """True where this cell trains on its backbone's cached embeddings."""
    return inputs.cached(config["frameworks"][cell.framework])


def recipe_of(config: Config, cell: Cell) -> Config:
    """The common recipe with what the cell's framework has of its own."""
    return {**config["recipe"], **config["frameworks"][cell.framework].get("recipe", {})}


def input_paths(config: Config, cell: Cell) -> dict[str, str]:
    """The files that this cell's training reads beside images and captions, by what they hold."""
    if is_cached(config, cell):
        return {}
    benchmark, backbone = config["benchmarks"][cell.train], config["backbones"][cell.backbone]
    root = manifest_path(cell.train, benchmark["train"]).removesuffix(".parquet")
    names = (benchmark.get("segments"), transform_name(backbone["transform"]), tokens_name(backbone))
    found = inputs.paths(config["frameworks"][cell.framework], root, *names)
    if inputs.filters_by_segments(recipe_of(config, cell)):
        found["segments"] = inputs.segments_path(root, benchmark["segments"])
    return found


def needs_embeddings(config: Config, cell: Cell) -> bool:
    """True where the loss reads the frozen backbone's embeddings of the training captions."""
    return tuning.entry_of(config["losses"], cell.loss).get("boost") == "frozen"


def resolve(config: Config, cell: Cell) -> Config:
    """What this cell depends on and nothing else; the record its training reads, of a tuned loss once it is settled.

    A cell that tries a setting sees no test split.
    """
    benchmark = config["benchmarks"][cell.train]
    framework = {key: value for key, value in config["frameworks"][cell.framework].items() if key != "recipe"}
    validation, cached = benchmark.get("validation"), is_cached(config, cell)
    tests = benchmark["test"] if cell.loss in config["losses"] else []
    data = {
        "train": {
            **data_paths(config, cell.backbone, cell.train, benchmark["train"], cached),
            **input_paths(config, cell),
        },
        "validation": validation and data_paths(config, cell.backbone, cell.train, validation, cached),
        "test": [data_paths(config, cell.backbone, cell.train, split, cached) for split in tests],
    }
    if needs_embeddings(config, cell):
        data["train"]["embeddings"] = embeddings_path(cell.backbone, cell.train, benchmark["train"])
    return {
        "cell": str(cell),
        "seed": cell.seed,
        "fraction": cell.fraction,
        "backbone": config["backbones"][cell.backbone],
        "framework": framework,
        "loss": tuning.entry_of(config["losses"], cell.loss),
        "recipe": recipe_of(config, cell),
        "data": data,
    }
