"""The mean token state over a region of an image or a span of a caption (GOAL's token similarity, CVPR 2025)."""

import torch


def patch_mask(box_N4: torch.Tensor, size: int, patch: int) -> torch.Tensor:
    """The patches that each box touches, bool [N, P], row by row as the tower orders them.

    Boxes are left, top, right, bottom in pixels of the `size` x `size` input and may lie outside it; corners are
    rounded (half to even) and clamped, as GOAL does. A box outside the input touches no patch.
    """
    corner_N4 = box_N4.round().clamp(0, size)
    first_N2 = (corner_N4[:, :2] / patch).floor()
    last_N2 = (corner_N4[:, 2:] / patch).ceil() - 1
    place = torch.arange(size // patch, device=box_N4.device)
    inside_N2G = (place >= first_N2[..., None]) & (place <= last_N2[..., None])
    columns_NG, rows_NG = inside_N2G.unbind(1)
    return (rows_NG[:, :, None] & columns_NG[:, None, :]).flatten(1)


def span_mask(span: torch.Tensor, tokens: int) -> torch.Tensor:
    """The tokens inside each span [..., 2] (first, end exclusive; start token is 0), bool [..., tokens]."""
    place = torch.arange(tokens, device=span.device)
    return (place >= span[..., :1]) & (place < span[..., 1:])


def pooled(states_NTW: torch.Tensor, mask_NT: torch.Tensor) -> torch.Tensor:
    """The mean state over the masked tokens, [N, W]; zeros, with a gradient of zeros, where the mask is empty."""
    total_NW = (states_NTW * mask_NT[..., None]).sum(1)
    return total_NW / mask_NT.sum(1, keepdim=True).clamp_min(1)
