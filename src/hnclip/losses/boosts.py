"""Boosts: what is added to the cosines of negatives before InfoNCE.

Each is a pure function `(image_ND, text_ND, ids_N, generator, **strength) -> offset_NN` with the query as the row,
a zero diagonal and no gradient. `ids_N` are the rows' caption numbers in the training manifest.
"""

import torch


def captions(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """γ times the caption-caption cosine of the live text tower (Ḡ of Eq. 2, arXiv 2608.18521)."""
    text_ND = text_ND.detach()
    return (gamma * (text_ND @ text_ND.T)).fill_diagonal_(0)


def matched(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """The same constant for every negative: γ times the batch's mean caption cosine over pairs of two captions.

    A margin as in CosFace (arXiv 1801.09414), as large as `captions` is on average.
    """
    offset_NN = captions(image_ND, text_ND, ids_N, generator, gamma=gamma)
    count = len(offset_NN)
    mean = offset_NN.sum() / max(count * (count - 1), 1)
    return mean.expand(count, count).clone().fill_diagonal_(0)


def frozen(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    table_MD: torch.Tensor,
) -> torch.Tensor:
    """γ times the caption cosine before training: `table_MD` holds the frozen backbone's unit caption embeddings."""
    text_ND = table_MD[ids_N.to(table_MD.device)].to(image_ND)
    return captions(image_ND, text_ND, ids_N, generator, gamma=gamma)
