"""One cell of a study chosen by hand, also one that no grid of it has. Standard library only."""

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from itertools import product
from typing import Any

from hnclip.cell import Cell, Config, grid, run_folder

AXES = {
    "backbone": "backbones",
    "train": "train",
    "framework": "frameworks",
    "loss": "losses",
    "fraction": "fractions",
    "seed": "seeds",
}  # a cell's fields, as a grid lists them
BY_HAND = "by-hand"  # the grid that a cell which no grid has is put into
FILES = ("run.json", "weights.safetensors", "log.parquet", "ranks.parquet")
SHOWN = 40


def parse(text: str, config: Config) -> Cell:
    """The cell of a path, such as tiny/scenes/longclip/hn/f100/s42; that of its run's folder will do."""
    return Cell.parse(text.strip("/").rpartition(f"{run_folder(config, '')}")[2])


def chosen(config: Config, **axes: Any) -> Cell:
    """The one cell of the study that has these values; those that are None are open.

    Where no grid has it, each open value must be the same in all of the study's cells. Raises ValueError that lists
    what there is to choose from.
    """
    given = {name: value for name, value in axes.items() if value is not None}
    cells = sorted(grid(config))
    found = [cell for cell in cells if given.items() <= asdict(cell).items()]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(_several(found))
    values = {name: {getattr(cell, name) for cell in cells} for name in AXES}
    open_axes = [name for name in AXES if name not in given and len(values[name]) > 1]
    if open_axes:
        listed = "; ".join(f"--{name} {' | '.join(map(str, sorted(values[name])))}" for name in open_axes)
        raise ValueError(f"no grid of the study has such a cell; to train it by hand, say also {listed}")
    return replace(cells[0], **{name: next(iter(values[name])) for name in AXES} | given)


def _several(found: list[Cell]) -> str:
    more = [f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    varied = [f.name for f in fields(Cell) if len({getattr(cell, f.name) for cell in found}) > 1]
    options = " ".join(f"--{name}" for name in varied)
    lines = [f"  {cell}" for cell in found[:SHOWN]] + more
    return "\n".join([f"the study has {len(found)} such cells; name one, or choose by {options}:", *lines])


def overlay(config: Config, cell: Cell) -> Config | None:
    """What makes the cell one of the study; None where it is one."""
    if cell in grid(config):
        return None
    axes = {many: [getattr(cell, one)] for one, many in AXES.items()}
    return {"run": [*config["run"], BY_HAND], "grids": {BY_HAND: axes}}


def targets(config: Config, cells: Iterable[Cell]) -> tuple[str, ...]:
    """The files that training these cells ends with."""
    return tuple(f"{run_folder(config, cell)}/{name}" for cell, name in product(cells, FILES))
