"""VSE++: each image and each caption against its hardest negative of the batch alone."""

import torch

from hnclip.losses.contrastive import similarities
from hnclip.losses.left_out import LEFT_OUT, not_negative
from hnclip.losses.own_rows import EVERY, first


def hardest(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    hinge: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """Half the sum of both directions' mean of max(0, hinge + hardest negative - pair), a scalar.

    On cosine + offset; the scale is not read and gets no gradient. VSE++ (arXiv 1707.05612), halved. A row without
    a negative counts as one whose hinge is met.
    """
    by_image_QN, by_text_QN = similarities(image_ND, text_ND, offset_NN, own)
    not_QN = not_negative(by_image_QN, offset_NN, own)
    return (_direction(by_image_QN, hinge, not_QN, own) + _direction(by_text_QN, hinge, not_QN, own)) / 2


def _direction(score_QN: torch.Tensor, hinge: float, not_QN: torch.Tensor, own: slice) -> torch.Tensor:
    worst_Q = score_QN.masked_fill(not_QN, LEFT_OUT).amax(1)
    return (hinge + worst_Q - score_QN.diagonal(first(own))).clamp_min(0).mean()
