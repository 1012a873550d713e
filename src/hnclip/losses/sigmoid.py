"""SigLIP: every image with every caption is a question of its own, answered by yes or no."""

import torch
from torch.nn.functional import softplus

from hnclip.losses.contrastive import similarities


def sigmoid(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    threshold: float,
) -> torch.Tensor:
    """The mean over rows of the sum over columns of log(1 + e^{-z l}), z = 1 for the pair and -1 else, a scalar.

    l = `scale * (cosine + offset - threshold)`. SigLIP (arXiv 2303.15343) learns its bias, which is -scale ·
    threshold; here the threshold is a setting. Half the sum of both directions, which differ in the offset's row
    alone. A pair left out adds nothing.
    """
    by_image_NN, by_text_NN = similarities(image_ND, text_ND, offset_NN)
    return (_direction(scale * (by_image_NN - threshold)) + _direction(scale * (by_text_NN - threshold))) / 2


def _direction(logits_NN: torch.Tensor) -> torch.Tensor:
    own_NN = torch.eye(len(logits_NN), dtype=torch.bool, device=logits_NN.device)
    return softplus(torch.where(own_NN, -logits_NN, logits_NN)).sum(1).mean()
