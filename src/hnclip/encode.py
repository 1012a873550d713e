"""Embeddings of a whole split: every row once, in fp32, sorted by length, without gradient."""

import numpy as np
import torch

from hnclip.data.split import Split
from hnclip.models.backbone import Backbone


def device() -> torch.device:
    """Where towers run: an NVIDIA or AMD GPU where torch has one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@torch.no_grad()
def encode_split(backbone: Backbone, split: Split, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit embeddings of the split's images [I, D] and captions [C, D], on the CPU."""
    device = backbone.mean.device
    images = len(split.pixels)
    image_ID = torch.cat(
        [
            backbone.image(split.image_batch(np.arange(start, min(start + batch, images))).to(device))[0].cpu()
            for start in range(0, images, batch)
        ]
    )
    by_length = np.argsort(split.tokens.lengths(), kind="stable")
    parts = []
    for start in range(0, len(by_length), batch):
        ids_NT, length_N = split.tokens.batch(by_length[start : start + batch])
        parts.append(backbone.text(ids_NT.to(device), length_N.to(device))[0].cpu())
    text_CD = torch.empty_like(torch.cat(parts))
    text_CD[torch.from_numpy(by_length)] = torch.cat(parts)
    return image_ID, text_CD
