"""Boosts: what is added to the cosines of negatives before the base.

Each is a pure function `(image_ND, text_ND, ids_N, generator, **strength) -> offset_NN` with the query as the row,
a zero diagonal and no gradient. `ids_N` are the rows' caption numbers in the training manifest.
"""

import torch


def captions(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """γ times the caption-caption cosine of the live text tower (Ḡ of Eq. 2, arXiv 2608.18521)."""
    return _cosines(text_ND, gamma)


def images(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """γ times the image-image cosine of the live image tower: the same margin from the other side."""
    return _cosines(image_ND, gamma)


def matched(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """The same constant for every negative: γ times the batch's mean caption cosine over pairs of two captions.

    A margin as in CosFace (arXiv 1801.09414), as large as `captions` is on average.
    """
    offset_NN = _cosines(text_ND, gamma)
    count = len(offset_NN)
    mean = offset_NN.sum() / max(count * (count - 1), 1)
    return mean.expand(count, count).clone().fill_diagonal_(0)


def constant(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, margin: float
) -> torch.Tensor:
    """The margin itself for every negative, in units of cosine: CosFace (arXiv 1801.09414), AM-softmax (1801.05599)."""
    return text_ND.new_full((len(text_ND), len(text_ND)), margin).fill_diagonal_(0)


def centred(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """`captions` less the mean of its row's negatives: what tells negatives apart, without the margin for all."""
    offset_NN = _cosines(text_ND, gamma)
    mean_N1 = offset_NN.sum(1, keepdim=True) / max(len(offset_NN) - 1, 1)
    return (offset_NN - mean_N1).fill_diagonal_(0)


def shuffled(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, generator: torch.Generator, *, gamma: float
) -> torch.Tensor:
    """`captions` with each row's values dealt out to its negatives by chance: as large, but of the wrong negatives."""
    offset_NN = _cosines(text_ND, gamma)
    count = len(offset_NN)
    away_NN = ~torch.eye(count, dtype=torch.bool, device=offset_NN.device)
    drawn = torch.rand(count, max(count - 1, 0), generator=generator, device=generator.device)
    dealt = offset_NN[away_NN].view_as(drawn).gather(1, drawn.argsort(1).to(offset_NN.device))
    return torch.zeros_like(offset_NN).masked_scatter(away_NN, dealt)


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
    return _cosines(table_MD[ids_N.to(table_MD.device)].to(image_ND), gamma)


def _cosines(rows_ND: torch.Tensor, gamma: float) -> torch.Tensor:
    """γ times the cosine of each row with each other one; no gradient, a zero diagonal."""
    rows_ND = rows_ND.detach()
    return (gamma * (rows_ND @ rows_ND.T)).fill_diagonal_(0)
