"""Embeddings of a whole split: every row once, in fp32, captions in order of length, without gradient."""

import numpy as np
import torch

from hnclip.data.split import Split
from hnclip.data.tokens import Tokens
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
    return image_ID, encode_texts(backbone, split.tokens, batch)


@torch.no_grad()
def encode_texts(backbone: Backbone, tokens: Tokens, batch: int) -> torch.Tensor:
    """Unit embeddings of texts [C, D], on the CPU."""
    device = backbone.mean.device
    text_CD = torch.empty(len(tokens), backbone.architecture["embed_dim"])
    for rows, ids_NT, length_N in tokens.by_length(batch):
        text_CD[torch.from_numpy(rows)] = backbone.text(ids_NT.to(device), length_N.to(device))[0].cpu()
    return text_CD
