"""VSE++: each image and each caption against its hardest negative of the batch alone."""

import torch

from hnclip.losses.contrastive import similarities
from hnclip.losses.left_out import LEFT_OUT, not_negative


def hardest(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    hinge: float,
) -> torch.Tensor:
    """Half the sum of both directions' mean of max(0, hinge + hardest negative - pair), a scalar.

    On cosine + offset; the scale is not read and gets no gradient. VSE++ (arXiv 1707.05612), halved. A row without
    a negative counts as one whose hinge is met.
    """
    by_image_NN, by_text_NN = similarities(image_ND, text_ND, offset_NN)
    not_NN = not_negative(by_image_NN, offset_NN)
    return (_direction(by_image_NN, hinge, not_NN) + _direction(by_text_NN, hinge, not_NN)) / 2


def _direction(score_NN: torch.Tensor, hinge: float, not_NN: torch.Tensor) -> torch.Tensor:
    worst_N = score_NN.masked_fill(not_NN, LEFT_OUT).amax(1)
    return (hinge + worst_N - score_NN.diagonal()).clamp_min(0).mean()
