"""Pairs of a batch that are no negatives of each other: captions of the very same words."""

import torch

LEFT_OUT = -1e9  # finite, since 0 times infinity would be the gradient of the scale


def leave_out_same(offset_NN: torch.Tensor, class_N: torch.Tensor) -> torch.Tensor:
    """The offset with `LEFT_OUT` for pairs of two rows of one class; the diagonal stays.

    As GISTEmbed (arXiv 2402.16829) leaves false negatives out, with equality of the words for its guide.
    """
    same_NN = class_N[:, None] == class_N
    return offset_NN.masked_fill(same_NN.fill_diagonal_(False), LEFT_OUT)


def left_out(offset_NN: torch.Tensor | None) -> torch.Tensor | None:
    """True for the pairs that are left out, [N, N]; None without an offset."""
    return None if offset_NN is None else offset_NN <= LEFT_OUT / 2


def not_negative(cosine_NN: torch.Tensor, offset_NN: torch.Tensor | None) -> torch.Tensor:
    """True for what is no negative of its row: the pair itself and those left out, [N, N]."""
    own_NN = torch.eye(len(cosine_NN), dtype=torch.bool, device=cosine_NN.device)
    return own_NN if offset_NN is None else own_NN | left_out(offset_NN)
