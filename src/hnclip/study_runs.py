"""What a study trains, and what it keeps of each run. Standard library only."""

from typing import Any

from hnclip import cell as cells
from hnclip import split_files
from hnclip.cell import Cell, Config
from hnclip.tuning import settings


def runs(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Each cell's folder and files, how tuned losses come to their settings, embeddings by trained cells, audits."""
    return {
        "cells": [
            {**_cell(config, cell), "eval": eval_paths(config, cell), **_settled(config, cell)}
            for cell in sorted(cells.grid(config))
        ],
        "choices": _choices(config),
        "cell_embeddings": _embedded(config),
        "audits": [
            {"cell": str(cell), "path": f"{cells.run_folder(config, cell)}/audit.parquet"}
            for cell in sorted(cells.marked(config, "audit"))
        ],
    }


def _settled(config: Config, cell: Cell) -> dict[str, str]:
    """Of a tuned cell, where its choice is."""
    return {"choice": cells.choice_path(config, cell)} if cells.setting_cells(config, cell) else {}


def eval_paths(config: Config, cell: Cell) -> list[str]:
    """The ranks of a cell on the benchmarks that it was not trained on."""
    return [f"{cells.run_folder(config, cell)}/eval/{name}.parquet" for name in cells.targets(config, cell)]


def choice_record(config: Config, cell: Cell) -> dict[str, Any]:
    """What the choice of a tuned cell's setting is made from: the runs of all settings, and the validation split."""
    validation = config["benchmarks"][cell.train]["validation"]
    entries = settings(cell.loss, config["losses"][cell.loss])
    runs = {name: cells.run_folder(config, each) for name, each in cells.setting_cells(config, cell).items()}
    return {
        "loss": cell.loss,
        "seed": config["tuning"]["seed"],
        "target": f"{cell.train}/{validation}",
        "settings": [{"name": name, "entry": entry, "run": runs[name]} for name, entry in entries.items()],
    }


def embedded_splits(config: Config, cell: Cell, benchmark: str) -> dict[str, Any]:
    """The splits whose embeddings by a trained cell are kept: tests, and the one that it was trained on."""
    trained = [config["benchmarks"][benchmark]["train"]] if benchmark == cell.train else []
    names, cached = [*trained, *split_files.test_splits(config, benchmark)], cells.is_cached(config, cell)
    return {"splits": [split_files.data_paths(config, cell.backbone, benchmark, name, cached) for name in names]}


def _embedded(config: Config) -> list[dict[str, str]]:
    return [
        {"cell": str(cell), "benchmark": name, "path": f"{cells.run_folder(config, cell)}/embeddings/{name}.parquet"}
        for cell in sorted(cells.marked(config, "embed"))
        for name in [cell.train, *cells.targets(config, cell)]
    ]


def _choices(config: Config) -> list[dict[str, Any]]:
    """Of each choice: for what, where it is written, and the cells that it is made from."""
    return [
        {
            "of": [cell.backbone, cell.train, cell.framework, cell.loss, cell.fraction],
            "path": cells.choice_path(config, cell),
            "cells": [_cell(config, each) for each in cells.setting_cells(config, cell).values()],
        }
        for cell in sorted(cells.choices(cells.grid(config), config))
    ]


def _cell(config: Config, cell: Cell) -> dict[str, Any]:
    return {"cell": str(cell), "run": cells.run_folder(config, cell)}
