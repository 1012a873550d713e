"""Means and InfoNCE over those rows of a batch that have what is compared; none keeps its gradient, of zeros."""

import torch

from hnclip.losses.contrastive import info_nce


def kept_mean(loss_N: torch.Tensor, keep_N: torch.Tensor) -> torch.Tensor:
    """The mean over the kept rows; zero where there are none."""
    return (loss_N * keep_N).sum() / keep_N.sum().clamp_min(1)


def kept_info_nce(
    image_ND: torch.Tensor, text_ND: torch.Tensor, scale: torch.Tensor, keep_N: torch.Tensor
) -> torch.Tensor:
    """InfoNCE over the kept pairs alone; zero where there are none (as one pair alone gives)."""
    if not keep_N.any():
        return (image_ND.sum() + text_ND.sum()) * 0
    return info_nce(image_ND[keep_N], text_ND[keep_N], scale)
