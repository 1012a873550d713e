"""InfoNCE over a batch of pairs, with an optional offset on its similarities."""

import torch
from torch.nn.functional import cross_entropy

from hnclip.losses.left_out import left_out


def similarities(
    image_ND: torch.Tensor, text_ND: torch.Tensor, offset_NN: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine + offset with the images as the rows, and with the captions as the rows, [N, N] each.

    Rows are unit vectors and pair i is row i of both; they are not normalised here. The offset has the query as its
    row in both directions.
    """
    if image_ND.shape != text_ND.shape:
        raise ValueError(
            f"images {tuple(image_ND.shape)} and captions {tuple(text_ND.shape)} must be pairs of one width"
        )
    cosine_NN = image_ND @ text_ND.T
    if offset_NN is None:
        return cosine_NN, cosine_NN.T
    return cosine_NN + offset_NN, cosine_NN.T + offset_NN


def info_nce(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Half the sum of both directions' cross-entropy of `scale * (cosine + offset)`, a scalar.

    Rows are unit vectors and pair i is row i of both. `scale` is the inverse temperature itself. The offset has the
    query as its row in both directions: images in the first, captions in the second. `label_smoothing` is the share
    of the target that all columns of a row hold alike, without those left out. Eq. 1 of arXiv 2608.18521 without an
    offset, Eq. 2 with the caption boost.
    """
    by_image_NN, by_text_NN = similarities(image_ND, text_ND, offset_NN)
    out_NN = left_out(offset_NN) if label_smoothing else None
    return (
        _direction(scale * by_image_NN, label_smoothing, out_NN)
        + _direction(scale * by_text_NN, label_smoothing, out_NN)
    ) / 2


def _direction(logits_NN: torch.Tensor, label_smoothing: float, out_NN: torch.Tensor | None) -> torch.Tensor:
    target_N = torch.arange(len(logits_NN), device=logits_NN.device)
    if out_NN is None or not out_NN.any():
        return cross_entropy(logits_NN, target_N, label_smoothing=label_smoothing)
    kept_NN = (~out_NN).to(logits_NN)
    even = -((kept_NN * logits_NN.log_softmax(1)).sum(1) / kept_NN.sum(1)).mean()
    return (1 - label_smoothing) * cross_entropy(logits_NN, target_N) + label_smoothing * even
