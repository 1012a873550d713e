"""Soft targets: what is alike in words may be retrieved too, the opposite of a boost on the same similarity."""

import torch

from hnclip.losses.contrastive import info_nce, similarities
from hnclip.losses.left_out import left_out
from hnclip.losses.own_rows import EVERY


def soft_targets(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    mix: float,
    sharpness: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """Half the sum of both directions' cross-entropy of `scale * (cosine + offset)` with a soft target, a scalar.

    The target of row i is (1 - mix) for its pair and mix shared by the softmax of sharpness times the cosine of
    caption i with each caption, without those left out; it gets no gradient. The same in both directions. After
    SoftCLIP (arXiv 2303.17561) and CWCL (arXiv 2309.14580). mix = 0 is InfoNCE.
    """
    by_image_QN, by_text_QN = similarities(image_ND, text_ND, offset_NN, own)
    target_QN = _shares(text_ND.detach(), sharpness, left_out(offset_NN), own)
    soft = (_direction(scale * by_image_QN, target_QN) + _direction(scale * by_text_QN, target_QN)) / 2
    return (1 - mix) * info_nce(image_ND, text_ND, scale, offset_NN, own=own) + mix * soft


def _shares(text_ND: torch.Tensor, sharpness: float, out_QN: torch.Tensor | None, own: slice) -> torch.Tensor:
    """How an own row's target is shared among the captions like its own, [Q, N]; rows sum to 1."""
    logits_QN = sharpness * (text_ND[own] @ text_ND.T)
    if out_QN is not None:
        logits_QN = logits_QN.masked_fill(out_QN, float("-inf"))
    return logits_QN.softmax(1)


def _direction(logits_QN: torch.Tensor, target_QN: torch.Tensor) -> torch.Tensor:
    return -(target_QN * logits_QN.log_softmax(1)).sum(1).mean()
