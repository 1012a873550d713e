"""What one cell costs: operations, seconds on devices, peak memory, bytes it leaves."""

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from hnclip import cell as cells
from hnclip import inputs, split_files
from hnclip.cell import Cell, Config
from hnclip.plan import cached, peak, workload
from hnclip.plan.devices import Device
from hnclip.plan.sizes import split_size
from hnclip.plan.tower import FP32
from hnclip.plan.towers import Towers

ADAMW = 28  # bytes moved of a parameter in a step of AdamW: reads and writes of weight, gradient and two moments


@dataclass(frozen=True)
class Cost:
    """A cell's cost; `flops` and `seconds` of training, `eval_*` of all evaluation, `peak` and `weights` in bytes.

    Seconds are those of all `processes` together, each of which has a device; `peak` is of each.
    """

    cell: str
    processes: int
    pairs: int
    steps: int
    flops: float
    seconds: float
    eval_flops: float
    eval_seconds: float
    peak: float
    weights: float
    checkpoint: float
    counted: bool = True  # false: nothing tells what the towers cost, and all but pairs and steps is 0

    def record(self) -> dict[str, Any]:
        return asdict(self)


def cell_cost(config: Config, cell: Cell, towers: Towers, device: Device) -> Cost:
    """The cost of a cell of the study on this device."""
    recipe, entry = cells.recipe_of(config, cell), config["frameworks"][cell.framework]
    benchmark = config["benchmarks"][cell.train]
    size = split_size(config, cell.train, benchmark["train"])
    if inputs.cached(entry):
        return _cached_cost(config, cell, size.pairs, towers.embed_dim, device)
    context = config["backbones"][cell.backbone]["context"]
    work = workload.workload(entry, min(size.tokens, context))
    images = max(ceil(size.pairs * cell.fraction / 100), 1)
    batch = min(recipe["batch"], images)
    processes, mixed = peak.processes(recipe), recipe["precision"] != "32-true"
    again = 1 - 1 / peak.parts(recipe, batch) + recipe["checkpoint_activations"]
    steps = recipe["epochs"] * ceil(ceil(images / batch) / recipe["accumulate"])
    pairs = recipe["epochs"] * images
    if not towers.counted:
        return Cost(str(cell), processes, pairs, steps, *[0.0] * 7, counted=False)
    flops = pairs * workload.training(work, towers, batch, context, again)
    seconds = flops / (1e12 * (device.mixed if mixed else device.fp32))
    updated = workload.trained(work, towers) * (processes if recipe["strategy"] == "ddp" else 1)
    moved = steps * ADAMW * updated + pairs * workload.traffic(work, towers, mixed, peak.rows(recipe, batch), again)
    seconds += moved / (1e9 * device.bandwidth)
    tested = evaluation(config, cell, towers, recipe["epochs"])
    return Cost(
        cell=str(cell),
        processes=processes,
        pairs=pairs,
        steps=steps,
        flops=flops,
        seconds=seconds,
        eval_flops=tested,
        eval_seconds=tested / (1e12 * device.fp32),
        peak=peak.peak(work, towers, recipe, context, batch),
        weights=FP32 * float(towers.parameters),
        checkpoint=FP32 * (towers.parameters + 2.0 * workload.trained(work, towers)),
    )


def _cached_cost(config: Config, cell: Cell, pairs: int, width: int, device: Device) -> Cost:
    """The cost of a cell on cached embeddings of this width; the towers that make them are counted elsewhere."""
    recipe, options = cells.recipe_of(config, cell), config["frameworks"][cell.framework].get("options", {})
    images = max(ceil(pairs * cell.fraction / 100), 1)
    batch = min(recipe["batch"], images)
    weights, seen = cached.parameters(options, width), recipe["epochs"] * images
    flops = seen * cached.training(options, width, batch)
    tested = recipe["epochs"] * pairs * 2.0 * weights
    return Cost(
        cell=str(cell),
        processes=peak.processes(recipe),
        pairs=seen,
        steps=recipe["epochs"] * ceil(ceil(images / batch) / recipe["accumulate"]),
        flops=flops,
        seconds=flops / (1e12 * device.fp32),
        eval_flops=tested,
        eval_seconds=tested / (1e12 * device.fp32),
        peak=cached.peak(options, width, batch, pairs),
        weights=FP32 * float(weights),
        checkpoint=FP32 * 3.0 * weights,
    )


def evaluation(config: Config, cell: Cell, towers: Towers, epochs: int) -> float:
    """Operations of every evaluation of a cell, in fp32: its own splits after each epoch, its transfers once.

    A cell that tries a setting of a tuned loss sees the validation split alone.
    """
    benchmark = config["benchmarks"][cell.train]
    tests = benchmark["test"] if cell.loss in config["losses"] else []
    own = [split for split in (benchmark.get("validation"), *tests) if split]
    total = epochs * sum(encoding(config, cell.train, split, towers) for split in own)
    for name in cells.targets(config, cell):
        total += sum(encoding(config, name, split, towers) for split in split_files.test_splits(config, name))
    return total


def encoding(config: Config, benchmark: str, split: str, towers: Towers) -> float:
    """Operations of embedding one split's images and captions."""
    size = split_size(config, benchmark, split)
    return size.pairs * (towers.image.forward(towers.image_tokens) + towers.text.forward(size.tokens))
