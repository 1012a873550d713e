"""From a loss entry of the config to the contrastive term that a framework is given."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch

from hnclip.losses import boosts
from hnclip.losses.contrastive import info_nce
from hnclip.options import unknown

Boost = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Generator], torch.Tensor]


class Contrastive(Protocol):
    """The global image-caption term as the study has it, which a framework calls."""

    def __call__(
        self,
        image_ND: torch.Tensor,
        text_ND: torch.Tensor,
        scale: torch.Tensor,
        ids_N: torch.Tensor,
        label_smoothing: float = 0.0,
    ) -> torch.Tensor:
        """The loss of these pairs; a method's own label smoothing stays under every boost."""


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
    """The image-caption term that the entry describes.

    `generator` serves boosts that draw; `frozen_MD` are the cached caption embeddings that `frozen` needs.
    """
    boost: Boost | None = None
    if entry.boost != "none":
        boost = partial(BOOSTS[entry.boost], gamma=entry.gamma)
    if entry.boost == "frozen":
        if frozen_MD is None:
            raise ValueError("boost `frozen` needs the cached embeddings of the training captions")
        boost = partial(boost, table_MD=frozen_MD)

    def term(image_ND, text_ND, scale, ids_N, label_smoothing=0.0):
        offset_NN = boost(image_ND, text_ND, ids_N, generator) if boost else None
        return info_nce(image_ND, text_ND, scale, offset_NN, label_smoothing)

    return term
