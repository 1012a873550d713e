"""InfoNCE over a batch of pairs, with an optional offset on its similarities."""

import torch
from torch.nn.functional import cross_entropy


def info_nce(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Half the sum of both directions' cross-entropy of `scale * (cosine + offset)`, a scalar.

    Rows are unit vectors and pair i is row i of both; they are not normalised here. `scale` is the inverse
    temperature itself. The offset has the query as its row in both directions: images in the first, captions in
    the second. Eq. 1 of arXiv 2608.18521 without an offset, Eq. 2 with the caption boost.
    """
    if image_ND.shape != text_ND.shape:
        raise ValueError(
            f"images {tuple(image_ND.shape)} and captions {tuple(text_ND.shape)} must be pairs of one width"
        )
    cosine_NN = image_ND @ text_ND.T
    by_image_NN, by_text_NN = cosine_NN, cosine_NN.T
    if offset_NN is not None:
        by_image_NN, by_text_NN = by_image_NN + offset_NN, by_text_NN + offset_NN
    target_N = torch.arange(len(cosine_NN), device=cosine_NN.device)
    return (
        cross_entropy(scale * by_image_NN, target_N, label_smoothing=label_smoothing)
        + cross_entropy(scale * by_text_NN, target_N, label_smoothing=label_smoothing)
    ) / 2
