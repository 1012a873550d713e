"""InfoNCE over a batch of pairs, with an optional offset on its similarities."""

import torch
from torch.nn.functional import cross_entropy

from hnclip.losses.left_out import left_out
from hnclip.losses.own_rows import EVERY, is_every, pair_of


def similarities(
    image_ND: torch.Tensor, text_ND: torch.Tensor, offset_QN: torch.Tensor | None = None, own: slice = EVERY
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine + offset of the own queries with all, images as the rows, and captions as the rows, [Q, N] each.

    Rows are unit vectors and pair i is row i of both; they are not normalised here. The offset has the query as its
    row in both directions, the own queries alone.
    """
    if image_ND.shape != text_ND.shape:
        raise ValueError(
            f"images {tuple(image_ND.shape)} and captions {tuple(text_ND.shape)} must be pairs of one width"
        )
    if is_every(own, len(image_ND)):
        by_image_QN = image_ND @ text_ND.T
        by_text_QN = by_image_QN.T
    else:
        by_image_QN, by_text_QN = image_ND[own] @ text_ND.T, text_ND[own] @ image_ND.T
    if offset_QN is None:
        return by_image_QN, by_text_QN
    return by_image_QN + offset_QN, by_text_QN + offset_QN


def info_nce(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    label_smoothing: float = 0.0,
    own: slice = EVERY,
) -> torch.Tensor:
    """Half the sum of both directions' cross-entropy of `scale * (cosine + offset)`, a scalar.

    Rows are unit vectors and pair i is row i of both. `scale` is the inverse temperature itself. The offset has the
    query as its row in both directions: images in the first, captions in the second. `label_smoothing` is the share
    of the target that all columns of a row hold alike, without those left out. Eq. 1 of arXiv 2608.18521 without an
    offset, Eq. 2 with the caption boost. `own`: the mean over these queries of both directions alone, each against
    all columns; the offset then holds their rows.
    """
    by_image_QN, by_text_QN = similarities(image_ND, text_ND, offset_NN, own)
    out_QN = left_out(offset_NN) if label_smoothing else None
    pair_Q = pair_of(own, len(text_ND), text_ND.device)
    return (
        _direction(scale * by_image_QN, pair_Q, label_smoothing, out_QN)
        + _direction(scale * by_text_QN, pair_Q, label_smoothing, out_QN)
    ) / 2


def _direction(
    logits_QN: torch.Tensor, pair_Q: torch.Tensor, label_smoothing: float, out_QN: torch.Tensor | None
) -> torch.Tensor:
    if out_QN is None or not out_QN.any():
        return cross_entropy(logits_QN, pair_Q, label_smoothing=label_smoothing)
    kept_QN = (~out_QN).to(logits_QN)
    even = -((kept_QN * logits_QN.log_softmax(1)).sum(1) / kept_QN.sum(1)).mean()
    return (1 - label_smoothing) * cross_entropy(logits_QN, pair_Q) + label_smoothing * even
