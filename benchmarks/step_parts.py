"""The parts of a training step of the embedded backbone and their shares: `python benchmarks/step_parts.py`."""

import time
from collections import defaultdict

import numpy as np
import torch
from common import arguments, scenes
from training_step import TINY, optimiser

from hnclip.losses.contrastive import info_nce
from hnclip.models.load import backbone_from


def main() -> None:
    options = arguments(__doc__.split(":")[0]).parse_args()
    torch.set_num_threads(options.threads)
    pixels, tokens = scenes(options.batch, (3, 4), 48)
    pixels, (ids_NT, length_N) = torch.from_numpy(pixels), tokens.batch(np.arange(options.batch))
    backbone = backbone_from(TINY).train()
    update = optimiser(backbone)
    seconds = defaultdict(list)

    def timed(part: str, call):
        start = time.perf_counter()
        result = call()
        seconds[part].append(time.perf_counter() - start)
        return result

    for _ in range(options.pairs):
        image_ND, _ = timed("image tower", lambda: backbone.image(pixels))
        text_ND, _ = timed("text tower", lambda: backbone.text(ids_NT, length_N))
        loss = timed("loss", lambda: info_nce(image_ND, text_ND, backbone.scale()))  # noqa: B023 (called at once)
        timed("backward", loss.backward)
        timed("norm of the gradient", lambda: torch.nn.utils.clip_grad_norm_(backbone.parameters(), 1.0))
        timed("AdamW", update.step)
        timed("zero", update.zero_grad)
    medians = {part: np.median(values) for part, values in seconds.items()}
    total = sum(medians.values())
    for part, value in medians.items():
        print(f"{part:<22}{1000 * value:8.1f} ms {value / total:6.1%}")


if __name__ == "__main__":
    main()
