"""The loss in tiles against the loss on the whole matrix: time in turn, and memory above the inputs.

`python benchmarks/tiled_loss.py`: InfoNCE boosted by captions, forward and backward on unit rows of width 512. Each
memory is the peak of a process of its own, the whole matrix's where it fits; `--grow 128 512 2048 8192 32768 65536`
says how time and memory grow.
"""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch
from common import arguments, interleaved, report
from torch.nn.functional import normalize

from hnclip.losses.entry import LossEntry
from hnclip.losses.objective import contrastive

WIDTH, SCALE = 512, 100.0
WHOLE_UP_TO = 16_384  # pairs whose matrix is still held at once
RESULT = "above the inputs"


def loss_of(rows: int, tile: int | None, boost: str = "captions"):
    entry = LossEntry(boost=boost, **({} if boost == "none" else {"gamma": 0.5}))
    loss, ids_N = contrastive(entry, torch.Generator(), tile=tile), torch.arange(rows)
    generator = torch.Generator().manual_seed(0)
    image_ND = normalize(torch.randn(rows, WIDTH, generator=generator), dim=-1).requires_grad_()
    text_ND = normalize(torch.randn(rows, WIDTH, generator=generator), dim=-1).requires_grad_()
    scale = torch.tensor(SCALE, requires_grad=True)

    def take() -> None:
        for leaf in (image_ND, text_ND, scale):
            leaf.grad = None
        loss(image_ND, text_ND, scale, ids_N).backward()

    return take


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def measure_one(rows: int, tile: int | None, boost: str) -> None:
    """Print the peak of this process above what it held with the inputs made, in MB, and the processor's seconds."""
    loss_of(16, 16 if tile else None, boost)()  # libraries take their memory
    take = loss_of(rows, tile, boost)
    held, done = resident(), threading.Event()
    peak = [held]

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    take()
    seconds = time.process_time() - start
    done.set()
    watcher.join()
    print(RESULT, (peak[0] - held) / 1e6, seconds)


def apart(rows: int, tile: int | None, boost: str, threads: int) -> tuple[float, float]:
    """MB above the inputs and seconds of the processor, in a process of its own."""
    command = [sys.executable, __file__, "--one", str(rows), "--tile", str(tile or 0), "--boost", boost]
    done = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True)
    megabytes, seconds = done.stdout.split(RESULT)[1].split()
    return float(megabytes), float(seconds)


def compared(options: argparse.Namespace) -> None:
    whole, tiled = (loss_of(options.rows, tile, options.boost) for tile in (None, options.tile))
    seconds = interleaved(tiled, whole, options.pairs, untimed=1, clock=time.process_time)
    report(f"{options.rows} pairs, {options.boost}", seconds, ("tiles", "whole matrix"))


def grown(options: argparse.Namespace) -> None:
    print(f"{'pairs':>8} {'tiles s':>9} {'tiles MB':>9} {'whole s':>9} {'whole MB':>9}")
    for rows in options.grow:
        figures = [*reversed(apart(rows, options.tile, options.boost, options.threads))]
        if rows <= WHOLE_UP_TO:
            figures += reversed(apart(rows, None, options.boost, options.threads))
        print(
            f"{rows:>8} "
            + " ".join(f"{figure:>9.{2 if place % 2 == 0 else 0}f}" for place, figure in enumerate(figures))
        )


def main() -> None:
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(pairs=10)
    parser.add_argument("--rows", type=int, default=8_192, help="pairs of the comparison (default 8192)")
    parser.add_argument("--tile", type=int, default=256, help="rows of a tile (default 256)")
    parser.add_argument("--boost", default="captions", help="boost of strength 0.5, or none (default captions)")
    parser.add_argument("--grow", nargs="+", type=int, default=[8_192, 32_768], help="pairs (default 8192 32768)")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.one:
        measure_one(options.one, options.tile or None, options.boost)
        return
    compared(options)
    grown(options)


if __name__ == "__main__":
    main()
