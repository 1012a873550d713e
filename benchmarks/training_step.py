"""Our training step against open_clip's on the same model, batch and data.

`python benchmarks/training_step.py`: the embedded backbone, dense captions of the drawn benchmark, batch 16. open_clip
computes every caption to the context's 248 positions; we compute the tokens that are there. Both get decoded pixels
and token ids ready, take plain InfoNCE and one AdamW step.
"""

from collections.abc import Callable

import numpy as np
import torch
from common import arguments, interleaved, report, scenes
from torch import nn
from torch.nn.functional import pad

from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.backbone import Backbone
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip

TINY = {
    "kind": "starter",
    "context": 248,
    "transform": {"size": 48, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"},
}


def optimiser(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)


def open_clips_model(backbone: Backbone) -> nn.Module:
    """open_clip's own model with the backbone's weights, as its trainer has it."""
    model = open_clip().model.CLIP(**backbone.architecture)
    model.load_state_dict(backbone.weights())
    return model.train()


def our_step(backbone: Backbone, pixels: torch.Tensor, ids_NT: torch.Tensor, length_N: torch.Tensor) -> Callable:
    """One training step of `longclip` with plain InfoNCE."""
    framework = create("longclip", backbone, {}).train()
    loss = contrastive(LossEntry(), torch.Generator())
    step = Step(torch.arange(len(pixels)), 0, 1, 0.0)
    update = optimiser(framework)

    def take() -> None:
        z = framework({"image": pixels, "text": ids_NT, "text_length": length_N})
        sum(framework.losses(z, step, loss).values()).backward()
        update.step()
        update.zero_grad()

    return take


def open_clips_step(model: nn.Module, backbone: Backbone, pixels: torch.Tensor, texts: torch.Tensor) -> Callable:
    """One training step of open_clip's model with its own loss, captions padded to its context."""
    images = (pixels.permute(0, 3, 1, 2) / 255 - backbone.mean) / backbone.std
    loss, update = open_clip().ClipLoss(), optimiser(model)

    def take() -> None:
        image_features, text_features, scale = model(images, texts)
        loss(image_features, text_features, scale).backward()
        update.step()
        update.zero_grad()

    return take


def main() -> None:
    options = arguments(__doc__.split("\n")[0]).parse_args()
    torch.set_num_threads(options.threads)
    pixels, tokens = scenes(options.batch, (3, 5), 48)
    ids_NT, length_N = tokens.batch(np.arange(options.batch))
    pixels = torch.from_numpy(pixels)
    backbone = backbone_from(TINY)
    texts = pad(ids_NT, (0, 248 - ids_NT.shape[1]))
    theirs = open_clips_step(open_clips_model(backbone), backbone, pixels, texts)
    seconds = interleaved(theirs, our_step(backbone, pixels, ids_NT, length_N), options.pairs)
    print(f"captions: {length_N.float().mean():.0f} tokens on average, {length_N.max()} at most, of 248 positions")
    report("training step", seconds, ("open_clip", "hnclip"))


if __name__ == "__main__":
    main()
