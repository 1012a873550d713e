"""SigLIP: every image with every caption is a question of its own, answered by yes or no."""

import torch
from torch.nn.functional import softplus

from hnclip.losses.contrastive import similarities
from hnclip.losses.own_rows import EVERY, is_pair


def sigmoid(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    threshold: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """The mean over rows of the sum over columns of log(1 + e^{-z l}), z = 1 for the pair and -1 else, a scalar.

    l = `scale * (cosine + offset - threshold)`. SigLIP (arXiv 2303.15343) learns its bias, which is -scale ·
    threshold; here the threshold is a setting. Half the sum of both directions, which differ in the offset's row
    alone. A pair left out adds nothing.
    """
    by_image_QN, by_text_QN = similarities(image_ND, text_ND, offset_NN, own)
    pair_QN = is_pair(own, len(text_ND), text_ND.device)
    return (
        _direction(scale * (by_image_QN - threshold), pair_QN) + _direction(scale * (by_text_QN - threshold), pair_QN)
    ) / 2


def _direction(logits_QN: torch.Tensor, pair_QN: torch.Tensor) -> torch.Tensor:
    return softplus(torch.where(pair_QN, -logits_QN, logits_QN)).sum(1).mean()
