"""The boosted training step against the plain one.

`python benchmarks/boosted_step.py`: the embedded backbone on dense captions of the drawn benchmark, batch 16, framework
`longclip`, losses `hn` and `infonce`; forward, backward and one AdamW step of each in turn.
"""

import numpy as np
import torch
from common import arguments, interleaved, report, scenes
from training_step import TINY, optimiser

from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from


def main() -> None:
    options = arguments(__doc__.split("\n")[0]).parse_args()
    torch.set_num_threads(options.threads)
    pixels, tokens = scenes(options.batch, (3, 5), 48)
    ids_NT, length_N = tokens.batch(np.arange(options.batch))
    batch = {"image": torch.from_numpy(pixels), "text": ids_NT, "text_length": length_N}
    framework = create("longclip", backbone_from(TINY), {}).train()
    update = optimiser(framework)
    step = Step(torch.arange(options.batch), 0, 1, 0.0)

    def step_with(entry: LossEntry):
        loss = contrastive(entry, torch.Generator())

        def take() -> None:
            sum(framework.losses(framework(batch), step, loss).values()).backward()
            update.step()
            update.zero_grad()

        return take

    boosted, plain = step_with(LossEntry(boost="captions", gamma=0.5)), step_with(LossEntry())
    report("boosted step", interleaved(boosted, plain, options.pairs), ("boosted", "plain"))


if __name__ == "__main__":
    main()
