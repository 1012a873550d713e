"""Pairs of a batch that are no negatives of each other: captions of the very same words."""

import torch

from hnclip.losses.own_rows import EVERY, is_pair

LEFT_OUT = -1e9  # finite, since 0 times infinity would be the gradient of the scale


def leave_out_same(offset_QN: torch.Tensor, class_N: torch.Tensor, own: slice = EVERY) -> torch.Tensor:
    """The offset of the own rows with `LEFT_OUT` for two captions of one class; what a row is paired with stays.

    As GISTEmbed (arXiv 2402.16829) leaves false negatives out, with equality of the words for its guide.
    """
    return offset_QN.masked_fill(same_words(class_N, own), LEFT_OUT)


def same_words(class_N: torch.Tensor, own: slice = EVERY) -> torch.Tensor:
    """True for two captions of one class that are not the pair itself, bool [Q, N]."""
    return (class_N[own, None] == class_N) & ~is_pair(own, len(class_N), class_N.device)


def left_out(offset_QN: torch.Tensor | None) -> torch.Tensor | None:
    """True for the pairs that are left out, [Q, N]; None without an offset."""
    return None if offset_QN is None else offset_QN <= LEFT_OUT / 2


def not_negative(cosine_QN: torch.Tensor, offset_QN: torch.Tensor | None, own: slice = EVERY) -> torch.Tensor:
    """True for what is no negative of its row: the pair itself and those left out, [Q, N]."""
    pair_QN = is_pair(own, cosine_QN.shape[1], cosine_QN.device)
    return pair_QN if offset_QN is None else pair_QN | left_out(offset_QN)
