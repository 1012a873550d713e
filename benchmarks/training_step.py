"""Our training step against open_clip's on the same model, batch and data.

`python benchmarks/training_step.py`: the embedded backbone, dense captions of the drawn benchmark, batch 16. open_clip
computes every caption to the context's 248 positions; we compute the tokens that are there. Both get decoded pixels
and token ids ready, take plain InfoNCE and one AdamW step.
"""

from copy import deepcopy

import numpy as np
import torch
from common import arguments, interleaved, report, scenes
from torch import nn

from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip

TINY = {
    "kind": "starter",
    "context": 248,
    "transform": {"size": 48, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"},
}


def optimiser(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)


def main() -> None:
    options = arguments(__doc__.split("\n")[0]).parse_args()
    torch.set_num_threads(options.threads)
    pixels, tokens = scenes(options.batch, (3, 5), 48)
    ids_NT, length_N = tokens.batch(np.arange(options.batch))
    pixels = torch.from_numpy(pixels)

    backbone = backbone_from(TINY)
    theirs = deepcopy(backbone.clip).train()
    framework = create("longclip", backbone, {}).train()
    loss = contrastive(LossEntry(), torch.Generator())
    step = Step(torch.arange(options.batch), 0, 1, 0.0)
    our_optimiser, their_optimiser = optimiser(framework), optimiser(theirs)

    def ours() -> None:
        z = framework({"image": pixels, "text": ids_NT, "text_length": length_N})
        sum(framework.losses(z, step, loss).values()).backward()
        our_optimiser.step()
        our_optimiser.zero_grad()

    images = (pixels.permute(0, 3, 1, 2) / 255 - backbone.mean) / backbone.std
    texts = torch.nn.functional.pad(ids_NT, (0, 248 - ids_NT.shape[1]))
    their_loss = open_clip().ClipLoss()

    def open_clips() -> None:
        image_features, text_features, scale = theirs(images, texts)
        their_loss(image_features, text_features, scale).backward()
        their_optimiser.step()
        their_optimiser.zero_grad()

    print(f"captions: {length_N.float().mean():.0f} tokens on average, {length_N.max()} at most, of 248 positions")
    report("training step", interleaved(open_clips, ours, options.pairs), ("open_clip", "hnclip"))


if __name__ == "__main__":
    main()
