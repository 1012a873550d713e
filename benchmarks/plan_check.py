"""The plan's steps against measured ones: `python benchmarks/plan_check.py`.

For each framework the ratio of its training step to the plain step of `longclip`, as `python -m hnclip.plan` counts it
and as this processor takes it, on the model and batch of framework_step.py. One speed of the processor, taken from the
plain step, turns operations into seconds. The last line says by how much a ratio is off at most; a fifth is fine.
"""

import time

import numpy as np
import torch
from common import arguments, interleaved, ratio
from framework_step import CROPS, PLAIN, entry, make_batch, step_of

from hnclip import frameworks
from hnclip.plan.costs import ADAMW
from hnclip.plan.devices import DEVICES
from hnclip.plan.towers import Towers, towers
from hnclip.plan.workload import traffic, trained, training, workload

INPUTS = {"crops": True, "edges": "canny", "edge_crops": CROPS, "lexicon": "colours", "first_sentence": True}


def counted(kind: str, model: Towers, batch: dict[str, torch.Tensor]) -> tuple[float, float]:
    """Operations of a step, and seconds that its memory traffic takes, AdamW's included."""
    pairs, caption = len(batch["image"]), batch["text_length"].float().mean().item()
    work = workload({"kind": kind, "inputs": INPUTS}, caption)
    operations = pairs * training(work, model, pairs, 248)
    moved = pairs * traffic(work, model, False, pairs) + ADAMW * trained(work, model)
    return operations, moved / (1e9 * DEVICES["cpu"].bandwidth)


def main() -> None:
    others = [name for name in frameworks.names() if name != PLAIN]
    parser = arguments(__doc__.split(":")[0])
    parser.add_argument("--frameworks", nargs="+", choices=others, default=others, metavar="NAME", help=str(others))
    parser.set_defaults(pairs=5, batch=4)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    batch, model = make_batch(options.batch), towers(entry())
    plain, (operations, memory) = step_of(PLAIN, batch), counted(PLAIN, model, batch)
    print(
        f"| framework | counted / {PLAIN} | measured ({options.pairs} pairs) | counted / measured |\n"
        + "| --- " * 4
        + "|"
    )
    worst = 0.0
    for kind in options.frameworks:
        seconds = interleaved(step_of(kind, batch), plain, options.pairs, untimed=1, clock=time.process_time)
        measured, low, high = ratio(seconds)
        plain_seconds = float(np.median(seconds[:, 1]))
        speed = operations / (plain_seconds - memory)
        mine, mine_memory = counted(kind, model, batch)
        planned = (mine / speed + mine_memory) / plain_seconds
        worst = max(worst, abs(planned / measured - 1))
        found = f"{measured:.2f} ({low:.2f} to {high:.2f})"
        print(f"| {kind} | {planned:.2f} | {found} | {planned / measured:.2f} |", flush=True)
    print(f"{speed / 1e9:.0f} GFLOP/s of {options.threads} thread(s); off by at most {worst:.0%}")


if __name__ == "__main__":
    main()
