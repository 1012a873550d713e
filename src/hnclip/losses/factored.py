"""Boosts as products of rows, so that a tile of boosted similarities is made where it is needed and never kept.

cosine + boost of two different rows i, j is `left_i · right_j + shift_i`, and of a pair its cosine. A shift of all
negatives of a query is, to the losses that read differences of a row alone, the opposite shift of its pair.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

from hnclip.losses.boosts import mean_cosine


class Factored(NamedTuple):
    """The factors of cosine + boost, [N, D] or wider, and what is added to each query's negatives; no gradient.

    The product holds for both directions with the images as the rows: a boost's own part is symmetric.
    """

    left_NE: torch.Tensor
    right_NE: torch.Tensor
    shift_N: torch.Tensor | float = 0.0


def none(image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor) -> Factored:
    return Factored(image_ND, text_ND)


def captions(image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, *, gamma: float) -> Factored:
    return Factored(image_ND + gamma * text_ND, text_ND)


def images(image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, *, gamma: float) -> Factored:
    return Factored(image_ND, text_ND + gamma * image_ND)


def matched(image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, *, gamma: float) -> Factored:
    return Factored(image_ND, text_ND, gamma * mean_cosine(text_ND))


def constant(image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, *, margin: float) -> Factored:
    return Factored(image_ND, text_ND, margin)


def centred(image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, *, gamma: float) -> Factored:
    others_N = text_ND @ text_ND.sum(0) - text_ND.square().sum(1)
    return captions(image_ND, text_ND, ids_N, gamma=gamma)._replace(
        shift_N=-gamma * others_N / max(len(text_ND) - 1, 1)
    )


def frozen(
    image_ND: torch.Tensor, text_ND: torch.Tensor, ids_N: torch.Tensor, *, gamma: float, table_MD: torch.Tensor
) -> Factored:
    rows_ND = table_MD[ids_N.to(table_MD.device)].to(image_ND)
    return Factored(torch.cat([image_ND, gamma * rows_ND], dim=1), torch.cat([text_ND, rows_ND], dim=1))


FACTORED: dict[str, Callable[..., Factored]] = {
    "none": none,
    "captions": captions,
    "images": images,
    "matched": matched,
    "constant": constant,
    "centred": centred,
    "frozen": frozen,
}
