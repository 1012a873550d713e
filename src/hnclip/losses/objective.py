"""From a loss entry of the config to the contrastive term that a framework is given."""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch

from hnclip.losses import boosts
from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import SMOOTHED, LossEntry
from hnclip.losses.hardest import hardest
from hnclip.losses.left_out import leave_out_same
from hnclip.losses.reweighted import reweighted
from hnclip.losses.sigmoid import sigmoid
from hnclip.losses.soft_targets import soft_targets

BASES = {
    "infonce": info_nce,
    "reweighted": reweighted,
    "hardest": hardest,
    "sigmoid": sigmoid,
    "soft": soft_targets,
}
BOOSTS = {
    "captions": boosts.captions,
    "matched": boosts.matched,
    "constant": boosts.constant,
    "centred": boosts.centred,
    "shuffled": boosts.shuffled,
    "frozen": boosts.frozen,
    "images": boosts.images,
}


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
        """The loss of these pairs, in fp32 at least.

        A method's own label smoothing stays under every boost, unless the entry has its own; bases other than
        InfoNCE smooth no labels.
        """


@dataclass(frozen=True)
class Tables:
    """What is known of the training split's captions beforehand, one row a caption in the manifest's order.

    `frozen_MD`: the frozen backbone's unit embeddings, for boost `frozen`. `text_class_M`: int64, equal for captions
    of the very same words, for `mask_duplicates`.
    """

    frozen_MD: torch.Tensor | None = None
    text_class_M: torch.Tensor | None = None


def contrastive(entry: LossEntry, generator: torch.Generator, tables: Tables | None = None) -> Contrastive:
    """The image-caption term that the entry describes; `generator` serves boosts that draw.

    Raises ValueError where the entry needs a table that is not there.
    """
    tables = tables or Tables()
    base = partial(BASES[entry.base], **entry.base_options)
    boost = _boost(entry, generator, tables)
    if entry.mask_duplicates and tables.text_class_M is None:
        raise ValueError("`mask_duplicates` needs the class of each training caption by its words")

    def offset(image_ND, text_ND, ids_N):
        offset_NN = boost(image_ND, text_ND, ids_N)
        if not entry.mask_duplicates:
            return offset_NN
        if offset_NN is None:
            offset_NN = text_ND.new_zeros(len(text_ND), len(text_ND))
        class_N = tables.text_class_M[ids_N.to(tables.text_class_M.device)]
        return leave_out_same(offset_NN, class_N.to(offset_NN.device))

    def term(image_ND, text_ND, scale, ids_N, label_smoothing=0.0):
        smoothing = {"label_smoothing": entry.label_smoothing or label_smoothing} if entry.base in SMOOTHED else {}
        with torch.autocast(image_ND.device.type, enabled=False):
            image_ND, text_ND = _single(image_ND), _single(text_ND)
            return base(image_ND, text_ND, scale, offset(image_ND, text_ND, ids_N), **smoothing)

    return term


def _boost(entry: LossEntry, generator: torch.Generator, tables: Tables):
    """The boost as a function of images, captions and their numbers; one that gives None without a boost."""
    if entry.boost == "none":
        return lambda image_ND, text_ND, ids_N: None
    options = entry.boost_options
    if entry.boost == "frozen":
        if tables.frozen_MD is None:
            raise ValueError("boost `frozen` needs the cached embeddings of the training captions")
        options = options | {"table_MD": tables.frozen_MD}
    return partial(BOOSTS[entry.boost], generator=generator, **options)


def _single(rows_ND: torch.Tensor) -> torch.Tensor:
    """The rows in fp32; those of float64 as they are."""
    return rows_ND.to(torch.promote_types(rows_ND.dtype, torch.float32))
