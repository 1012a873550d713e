"""How far two unit vectors that should be one point apart, over the rows that have both."""

import torch

from hnclip.losses.kept import kept_mean


def misalignment(a_ND: torch.Tensor, b_ND: torch.Tensor, keep_N: torch.Tensor) -> torch.Tensor:
    """The mean of (1 - cosine)² of unit rows over the kept rows (GOAL, CVPR 2025); both sides get its gradient."""
    return kept_mean((1 - (a_ND * b_ND).sum(-1)).square(), keep_N)


def consistency(a_ND: torch.Tensor, b_ND: torch.Tensor, keep_N: torch.Tensor) -> torch.Tensor:
    """The mean of 1 - cosine of unit rows over the kept rows (StructXLIP, arXiv 2602.20089); both sides learn."""
    return kept_mean(1 - (a_ND * b_ND).sum(-1), keep_N)
