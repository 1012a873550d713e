"""The plan of a whole study: its cells, then what they share."""

from typing import Any

from hnclip import cell as cells
from hnclip import split_files
from hnclip.cell import Config
from hnclip.plan.costs import cell_cost, encoding
from hnclip.plan.devices import Device
from hnclip.plan.disk import disk
from hnclip.plan.sizes import downloads, split_size
from hnclip.plan.towers import towers
from hnclip.study import evaluated, narrow

SAM_SECONDS = 5.0  # an image: GOAL's authors state 1,239.7 minutes for DOCCI's 14,847 images, matching included


def plan(config: Config, device: Device) -> dict[str, Any]:
    """Each cell's cost, bytes on disk, and the hours of everything on one device of this kind."""
    used = narrow(config)
    known = {name: towers(entry) for name, entry in used["backbones"].items()}
    costs = [cell_cost(config, cell, known[cell.backbone], device) for cell in sorted(cells.trained(config))]
    frozen = sum(
        encoding(config, entry["benchmark"], entry["split"], known[entry["backbone"]]) for entry in evaluated(config)
    )
    hours = {
        "training": sum(cost.seconds for cost in costs) / 3600,
        "evaluation of cells": sum(cost.eval_seconds for cost in costs) / 3600,
        "audits": audit_seconds(config, {cost.cell: cost.seconds for cost in costs}) / 3600,
        "frozen backbones": frozen / (1e12 * device.fp32) / 3600,
        "regions by SAM": sam_images(config, used) * SAM_SECONDS / 3600,
    }
    return {
        "study": config["study"],
        "device": vars(device),
        "sizes": _sizes(config, used),
        "by_hand": {name: found["by_hand"] for name, found in downloads(config, list(used["benchmarks"])).items()},
        "cells": [cost.record() for cost in costs],
        "uncounted": sorted(name for name, found in known.items() if not found.counted),
        "gpu_hours": hours,
        "total_gpu_hours": sum(hours.values()),
        "disk": disk(config, known, costs),
        "peak": max(cost.peak for cost in costs),
    }


def audit_seconds(config: Config, seconds: dict[str, float]) -> float:
    """Audited cells are trained once more; every so many steps come two losses on one batch, in each precision."""
    audited = [(str(cell), cells.recipe_of(config, cell)) for cell in cells.marked(config, "audit")]
    return sum(seconds[name] * audit_passes(config, recipe) for name, recipe in audited)


def audit_passes(config: Config, recipe: dict[str, Any]) -> float:
    """How many times the training itself an audit of it takes."""
    each = 2 * len(config["audit"]["precisions"]) / config["audit"]["every"]
    return 1 + each / recipe["accumulate"]


def sam_images(config: Config, used: Config) -> int:
    """Images whose regions Segment Anything looks for: the training splits, each once."""
    found = {}
    for cell in cells.trained(config):
        entry = used["benchmarks"][cell.train]
        path = cells.input_paths(config, cell).get("segments")
        if path and used["segments"][entry["segments"]]["kind"] == "sam":
            found[path] = split_size(config, cell.train, entry["train"]).pairs
    return sum(found.values())


def _sizes(config: Config, used: Config) -> list[dict[str, Any]]:
    """Of each split: pairs, tokens a caption, and where the number is from."""
    return [
        {"split": f"{name}/{split}", **vars(split_size(config, name, split))}
        for name, entry in used["benchmarks"].items()
        for split in split_files.all_splits(entry)
    ]
