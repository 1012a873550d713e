"""What the boost adds to a training step of ViT-B/16's size.

`python benchmarks/boosted_loss.py`: the boosted and the plain loss alone, forward and backward on unit rows of width
512, in turn; their difference over a whole plain step of framework `longclip` on as many pairs.
"""

import time

import numpy as np
import torch
from common import arguments, interleaved
from framework_step import PLAIN, make_batch, step_of
from torch.nn.functional import normalize

from hnclip.losses.objective import LossEntry, contrastive

WIDTH, SCALE = 512, 100.0
STEPS = 3  # timed whole steps, after one untimed


def loss_of(entry: LossEntry, rows: int):
    loss, ids_N = contrastive(entry, torch.Generator()), torch.arange(rows)
    image_ND, text_ND = (normalize(torch.randn(rows, WIDTH), dim=-1).requires_grad_() for _ in range(2))

    def take() -> None:
        loss(image_ND, text_ND, torch.tensor(SCALE), ids_N).backward()

    return take


def main() -> None:
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(pairs=1000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    boosted, plain = (loss_of(entry, options.batch) for entry in (LossEntry(boost="captions", gamma=0.5), LossEntry()))
    added = np.median(np.subtract(*interleaved(boosted, plain, options.pairs).T))
    step = step_of(PLAIN, make_batch(options.batch))
    step()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    whole = (time.perf_counter() - start) / STEPS
    print(f"the boost adds {added * 1e6:.0f} µs to a loss of {options.batch} pairs, {added / whole:.1e} of a step")
    print(f"boosted step / plain step = {1 + added / whole:.5f} ({options.pairs} pairs, a step takes {whole:.1f} s)")


if __name__ == "__main__":
    main()
