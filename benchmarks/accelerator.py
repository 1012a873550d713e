"""Training on a GPU, prepared for a few minutes on one: `python benchmarks/accelerator.py --json figures.json`.

Cells of ViT-L/14's size with random weights, each framework with and without the boost, in fp32 and bf16; generated
pictures and captions of DOCCI's lengths, which lie in the device's memory. A step is forward, backward and AdamW of
`--batch` pairs in chunks of `--chunk`; in fp32 a batch is one chunk. Plain and boosted steps take turns on one model.
The share of the matrix rate is the step's matrix operations, those of encoding twice included, over its time and
over the rate of one large product of the same precision, measured first. `--seconds` bounds the whole run: what finds
no time is skipped with a line that says so. `--toy` runs all of it on a CPU at a size that shows only that it works.
"""

import argparse
import gc
import json
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerator_cell import LOSSES, PRECISIONS, Cell
from accelerator_parts import loss_in_tiles, matrix_rate, peak_of, ranks_over_product, seconds_of
from docci_lengths import lengths
from framework_step import PLAIN, batch_of, captions
from torch.utils.flop_counter import FlopCounterMode

from hnclip import frameworks
from hnclip.frameworks.base import Framework
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip

TOY_TOWERS = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 248, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
    "quick_gelu": True,
}


@dataclass
class Bench:
    """The sizes of a run, the device, the time left, and what was found."""

    toy: bool
    batch: int
    chunk: int
    steps: int
    seconds: float
    file: Path | None
    started: float = field(default_factory=time.perf_counter)
    found: dict[str, Any] = field(default_factory=lambda: {"cells": [], "losses": [], "skipped": [], "failed": []})

    def __post_init__(self):
        self.device = torch.device("cpu" if self.toy else "cuda")
        self.architecture = TOY_TOWERS if self.toy else open_clip().get_model_config("ViT-L-14-quickgelu")
        self.size = self.architecture["vision_cfg"]["image_size"]

    def left(self) -> float:
        return self.seconds - (time.perf_counter() - self.started)

    def say(self, key: str, line: str, value: Any) -> None:
        print(line, flush=True)
        if isinstance(self.found.get(key), list):
            self.found[key].append(value)
        else:
            self.found[key] = value
        if self.file:  # after each line, so that a run that is cut off has left what it found
            self.file.write_text(json.dumps(self.found, indent=1))

    def attempt(self, what: str, least: float, call: Callable[[], None]) -> None:
        """Do it if there are so many seconds left; what fails is noted, and the others go on."""
        gc.collect()
        if not self.has_time(what, least):
            return
        try:
            call()
        except Exception as error:  # a GPU is lent for minutes: one cell must not cost the others
            traceback.print_exc()
            self.say("failed", f"failed: {what}: {error}", {"what": what, "error": repr(error)})

    def has_time(self, what: str, least: float) -> bool:
        if self.toy or self.left() >= least:
            return True
        self.say("skipped", f"skipped, {self.left():.0f} s are left: {what}", what)
        return False

    def framework(self, kind: str) -> Framework:
        transform = {"size": self.size, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
        with self.device:
            entry = {"kind": "random", "context": 248, "transform": transform, "architecture": self.architecture}
            return frameworks.create(kind, backbone_from(entry), {}).to(self.device).train()

    def pairs(self, count: int) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        pixels = torch.randint(0, 256, (count, self.size, self.size, 3), dtype=torch.uint8)
        batch = batch_of(pixels, *captions(lengths(count).clamp_min(80)))
        return {key: value.to(self.device) for key, value in batch.items()}


def cells() -> Iterator[tuple[str, str]]:
    """The plain framework first, which the others are compared with; bf16 before fp32, which takes longer."""
    names = [PLAIN, *(name for name in frameworks.on_towers() if name != PLAIN)]
    yield from ((kind, precision) for precision in PRECISIONS for kind in names)


def measure_cell(bench: Bench, kind: str, precision: str, share: float) -> None:
    """Steps of a framework, plain and boosted in turn, for about `share` seconds."""
    start = time.perf_counter()
    batch = bench.pairs(bench.batch if precision == "bf16" else bench.chunk)
    cell, pairs = Cell(bench.framework(kind), precision, batch, bench.chunk), len(batch["image"])
    calls = {name: cell.step(name) for name in LOSSES}
    with FlopCounterMode(display=False) as counter:
        calls["plain"]()
    _, peak = peak_of(calls["boosted"], bench.device)
    rows: list[list[float]] = []
    while len(rows) < bench.steps and (not rows or time.perf_counter() - start < share):
        order = list(calls) if len(rows) % 2 else list(calls)[::-1]
        taken = {name: seconds_of(calls[name], bench.device) for name in order}
        rows.append([taken[name] for name in LOSSES])
    plain, boosted = np.median(rows, axis=0)
    rate = counter.get_total_flops() / plain / bench.found["matrix_rate"][precision]
    value = {
        "framework": kind,
        "precision": precision,
        "pairs": pairs,
        "chunk": cell.chunk.rows,
        "steps": len(rows),
        "plain_s": plain,
        "boosted_s": boosted,
        "images_per_s": pairs / plain,
        "share_of_matrix_rate": rate,
        "peak_gb": peak,
        "boosted_over_plain": float(np.median(np.array(rows)[:, 1] / np.array(rows)[:, 0])),
    }
    first = [each for each in bench.found["cells"] if (each["framework"], each["precision"]) == (PLAIN, precision)]
    value["over_plain_framework"] = plain / first[0]["plain_s"] if first else 1.0
    bench.say("cells", _row(value), value)


def _row(value: dict[str, Any]) -> str:
    peak = "-" if value["peak_gb"] is None else f"{value['peak_gb']:.1f}"
    return (
        f"| {value['framework']} | {value['precision']} | {value['pairs']} | {value['chunk']} | {value['steps']} "
        f"| {value['images_per_s']:.1f} | {value['share_of_matrix_rate']:.0%} | {peak} "
        f"| {value['boosted_over_plain']:.3f} | {value['over_plain_framework']:.2f} |"
    )


def measure_loss(bench: Bench, rows: int) -> None:
    found = loss_in_tiles(rows, *((16, 8) if bench.toy else (768, 1024)), bench.device)
    bench.say("losses", f"loss: {_short(found)}", found)


def measure_ranks(bench: Bench) -> None:
    found = ranks_over_product(*((50, 16) if bench.toy else (10_000, 512)), bench.device)
    bench.say("ranks", f"ranks: {_short(found)}", found)


def measure_chunk(bench: Bench) -> None:
    """The plain framework in bf16: a batch in chunks over the same at once, and over the memory of one chunk alone."""
    found: dict[str, Any] = {"pairs": bench.batch, "chunk": bench.chunk}
    for name, pairs, chunk in (
        ("chunked", bench.batch, bench.chunk),
        ("whole", bench.batch, None),
        ("small", bench.chunk, None),
    ):
        take = Cell(bench.framework(PLAIN), "bf16", bench.pairs(pairs), chunk).step("plain")
        try:
            take()
            found[f"{name}_s"], found[f"{name}_gb"] = min(peak_of(take, bench.device) for _ in range(3))
        except (torch.OutOfMemoryError, ValueError) as error:
            found["note"] = f"{name}: {error}"
        del take
    if "whole_s" in found:
        found["time_ratio"] = found["chunked_s"] / found["whole_s"]
    if found.get("small_gb"):
        found["memory_ratio"] = found["chunked_gb"] / found["small_gb"]
    bench.say("chunk", f"chunk: {_short(found)}", found)


def _short(found: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--toy", action="store_true", help="on the CPU, at a size that shows only that it works")
    parser.add_argument("--batch", type=int, default=256, help="pairs a step in bf16 (default 256)")
    parser.add_argument(
        "--chunk", type=int, default=128, help="pairs encoded at once, and a step in fp32 (default 128)"
    )
    parser.add_argument("--steps", type=int, default=24, help="steps of each kind a cell, at most (default 24)")
    parser.add_argument("--seconds", type=float, default=280, help="bound of the whole run (default 280)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    given = parser.parse_args()
    if not given.toy and not torch.cuda.is_available():
        parser.error("there is no GPU here; --toy shows on a CPU that the script works")
    sizes = (4, 2, 1) if given.toy else (given.batch, given.chunk, given.steps)
    bench = Bench(given.toy, *sizes, given.seconds, given.json)
    small = bench.toy
    name = platform.machine() if small else torch.cuda.get_device_name()
    tf32 = torch.backends.cuda.matmul.allow_tf32
    machine = {"device": name, "torch": torch.__version__, "tf32_products": tf32}
    bench.say("machine", f"{name}, torch {torch.__version__}, TF32 in fp32 products: {tf32}", machine)
    rates = {key: matrix_rate(256 if small else 8192, dtype, bench.device) for key, dtype in PRECISIONS.items()}
    bench.say("matrix_rate", "; ".join(f"{key} {rate / 1e12:.3g} Tflop/s" for key, rate in rates.items()), rates)
    for rows in (32, 64) if small else (8192, 32768):
        bench.attempt(f"the loss of {rows} rows", 30, partial(measure_loss, bench, rows))
    bench.attempt("ranks", 30, partial(measure_ranks, bench))
    bench.attempt("chunk", 40, partial(measure_chunk, bench))
    print(
        "| framework | precision | pairs | chunk | steps | images/s | of matrix rate | peak GB | boosted / plain "
        f"| / {PLAIN} |"
    )
    print("| ---" * 10 + " |")
    todo = list(cells())
    for number, (kind, precision) in enumerate(todo):
        share = bench.left() / (len(todo) - number)
        bench.attempt(f"{kind} in {precision}", 8, partial(measure_cell, bench, kind, precision, share))
    print(f"{time.perf_counter() - bench.started:.0f} s in all")
    if bench.found["failed"]:
        sys.exit(f"{len(bench.found['failed'])} parts failed, see above")


if __name__ == "__main__":
    main()
