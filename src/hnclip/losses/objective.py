"""From a loss entry of the config to the contrastive term that a framework is given."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from hnclip.losses import boosts
from hnclip.losses.contrastive import info_nce
from hnclip.options import unknown

Boost = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Generator], torch.Tensor]
Contrastive = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
BOOSTS = {"captions": boosts.captions, "matched": boosts.matched, "frozen": boosts.frozen}


@dataclass(frozen=True)
class LossEntry:
    """A base, a boost with its strength, and optionally a fixed inverse temperature in place of the learned one."""

    base: str = "infonce"
    boost: str = "none"
    gamma: float | None = None
    scale: float | None = None

    def __post_init__(self):
        problems = []
        if self.base != "infonce":
            problems.append(unknown("base", self.base, ["infonce"]))
        if self.boost not in ("none", *BOOSTS):
            problems.append(unknown("boost", self.boost, ["none", *BOOSTS]))
        if (self.boost == "none") != (self.gamma is None):
            problems.append("`gamma` belongs to a boost: give both or none")
        if self.scale is not None and self.scale <= 0:
            problems.append(f"`scale` is an inverse temperature above 0, not {self.scale}")
        if problems:
            raise ValueError("loss: " + "; ".join(problems))


def contrastive(entry: LossEntry, generator: torch.Generator, frozen_MD: torch.Tensor | None = None) -> Contrastive:
    """The function `(image_ND, text_ND, scale, ids_N) -> loss` that the entry describes.

    `generator` serves boosts that draw; `frozen_MD` are the cached caption embeddings that `frozen` needs.
    """
    if entry.boost == "none":
        return lambda image_ND, text_ND, scale, ids_N: info_nce(image_ND, text_ND, scale)
    boost: Boost = partial(BOOSTS[entry.boost], gamma=entry.gamma)
    if entry.boost == "frozen":
        if frozen_MD is None:
            raise ValueError("boost `frozen` needs the cached embeddings of the training captions")
        boost = partial(boost, table_MD=frozen_MD)

    def boosted(image_ND, text_ND, scale, ids_N):
        return info_nce(image_ND, text_ND, scale, boost(image_ND, text_ND, ids_N, generator))

    return boosted
