"""Soft targets: what is alike in words may be retrieved too, the opposite of a boost on the same similarity."""

import torch

from hnclip.losses.contrastive import info_nce, similarities
from hnclip.losses.left_out import left_out


def soft_targets(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    mix: float,
    sharpness: float,
) -> torch.Tensor:
    """Half the sum of both directions' cross-entropy of `scale * (cosine + offset)` with a soft target, a scalar.

    The target of row i is (1 - mix) for its pair and mix shared by the softmax of sharpness times the cosine of
    caption i with each caption, without those left out; it gets no gradient. The same in both directions. After
    SoftCLIP (arXiv 2303.17561) and CWCL (arXiv 2309.14580). mix = 0 is InfoNCE.
    """
    by_image_NN, by_text_NN = similarities(image_ND, text_ND, offset_NN)
    target_NN = _shares(text_ND.detach(), sharpness, left_out(offset_NN))
    soft = (_direction(scale * by_image_NN, target_NN) + _direction(scale * by_text_NN, target_NN)) / 2
    return (1 - mix) * info_nce(image_ND, text_ND, scale, offset_NN) + mix * soft


def _shares(text_ND: torch.Tensor, sharpness: float, out_NN: torch.Tensor | None) -> torch.Tensor:
    """How a row's target is shared among the captions like its own, [N, N]; rows sum to 1."""
    logits_NN = sharpness * (text_ND @ text_ND.T)
    if out_NN is not None:
        logits_NN = logits_NN.masked_fill(out_NN, float("-inf"))
    return logits_NN.softmax(1)


def _direction(logits_NN: torch.Tensor, target_NN: torch.Tensor) -> torch.Tensor:
    return -(target_NN * logits_NN.log_softmax(1)).sum(1).mean()
