"""Boosts: what is added to the cosines of negatives before the base.

Each is a pure function `(image_ND, text_ND, ids_N, generator, **strength, own) -> offset_QN` with the own queries as
the rows (all of them by default), zeros at their pairs and no gradient. `ids_N` are the rows' caption numbers in the
training manifest.
"""

import torch

from hnclip.losses.own_rows import EVERY, first, is_every, is_pair


def captions(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """γ times the caption-caption cosine of the live text tower (Ḡ of Eq. 2, arXiv 2608.18521)."""
    return _cosines(text_ND, gamma, own)


def images(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """γ times the image-image cosine of the live image tower: the same margin from the other side."""
    return _cosines(image_ND, gamma, own)


def matched(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """The same constant for every negative: γ times the batch's mean caption cosine over pairs of two captions.

    A margin as in CosFace (arXiv 1801.09414), as large as `captions` is on average.
    """
    count = len(text_ND)
    if is_every(own, count):
        mean = _cosines(text_ND, gamma, own).sum() / max(count * (count - 1), 1)
    else:
        mean = gamma * mean_cosine(text_ND)
    return _away_from_pairs(mean.expand(len(text_ND[own]), count).clone(), own)


def constant(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    margin: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """The margin itself for every negative, in units of cosine: CosFace (arXiv 1801.09414), AM-softmax (1801.05599)."""
    return _away_from_pairs(text_ND.new_full((len(text_ND[own]), len(text_ND)), margin), own)


def centred(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """`captions` less the mean of its row's negatives: what tells negatives apart, without the margin for all."""
    offset_QN = _cosines(text_ND, gamma, own)
    mean_Q1 = offset_QN.sum(1, keepdim=True) / max(len(text_ND) - 1, 1)
    return _away_from_pairs(offset_QN - mean_Q1, own)


def shuffled(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """`captions` with each row's values dealt out to its negatives by chance: as large, but of the wrong negatives."""
    offset_QN, count = _cosines(text_ND, gamma, own), len(text_ND)
    away_QN = ~is_pair(own, count, text_ND.device)
    # drawn for all rows, so that a row's deal does not hang on who scores it
    drawn_QM = torch.rand(count, max(count - 1, 0), generator=generator, device=generator.device)[own]
    dealt = offset_QN[away_QN].view_as(drawn_QM).gather(1, drawn_QM.argsort(1).to(offset_QN.device))
    return torch.zeros_like(offset_QN).masked_scatter(away_QN, dealt)


def frozen(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    ids_N: torch.Tensor,
    generator: torch.Generator,
    *,
    gamma: float,
    table_MD: torch.Tensor,
    own: slice = EVERY,
) -> torch.Tensor:
    """γ times the caption cosine before training: `table_MD` holds the frozen backbone's unit caption embeddings."""
    return _cosines(table_MD[ids_N.to(table_MD.device)].to(image_ND), gamma, own)


def mean_cosine(rows_ND: torch.Tensor) -> torch.Tensor:
    """The mean cosine of two different rows, a scalar: Σ over i ≠ j of x_i·x_j is |Σ x|² less Σ |x|²; no gradient."""
    rows_ND, count = rows_ND.detach(), len(rows_ND)
    return (rows_ND.sum(0).square().sum() - rows_ND.square().sum()) / max(count * (count - 1), 1)


def _cosines(rows_ND: torch.Tensor, gamma: float, own: slice) -> torch.Tensor:
    """γ times the cosine of each own row with each other one; no gradient, zeros at the pairs."""
    rows_ND = rows_ND.detach()
    return _away_from_pairs(gamma * (rows_ND[own] @ rows_ND.T), own)


def _away_from_pairs(offset_QN: torch.Tensor, own: slice) -> torch.Tensor:
    offset_QN.diagonal(first(own)).zero_()
    return offset_QN
