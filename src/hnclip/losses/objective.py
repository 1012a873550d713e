"""From a loss entry of the config to the contrastive term that a framework is given."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch

from hnclip.losses import boosts
from hnclip.losses.chunked import tiled_info_nce
from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import SMOOTHED, LossEntry
from hnclip.losses.factored import FACTORED
from hnclip.losses.hardest import hardest
from hnclip.losses.left_out import leave_out_same
from hnclip.losses.reweighted import reweighted
from hnclip.losses.shared import row_shared
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


def contrastive(
    entry: LossEntry, generator: torch.Generator, tables: Tables | None = None, tile: int | None = None
) -> Contrastive:
    """The image-caption term that the entry describes; `generator` serves boosts that draw.

    With `tile` only so many rows of the similarity matrix are held at once. Several processes share the rows, each
    holding the embeddings of all of them. Raises ValueError where the entry needs a table that is not there, or
    cannot be tiled.
    """
    tables = tables or Tables()
    if entry.boost == "frozen" and tables.frozen_MD is None:
        raise ValueError("boost `frozen` needs the cached embeddings of the training captions")
    if entry.mask_duplicates and tables.text_class_M is None:
        raise ValueError("`mask_duplicates` needs the class of each training caption by its words")
    part = _whole(entry, generator, tables) if tile is None else _tiled(entry, tables, tile)

    def term(image_ND, text_ND, scale, ids_N, label_smoothing=0.0):
        smoothing = {"label_smoothing": entry.label_smoothing or label_smoothing} if entry.base in SMOOTHED else {}
        with torch.autocast(image_ND.device.type, enabled=False):
            own_part = partial(part, ids_N, smoothing)
            return row_shared(own_part, len(image_ND), _single(image_ND), _single(text_ND), scale)

    return term


def _whole(entry: LossEntry, generator: torch.Generator, tables: Tables):
    """The own rows' part of the loss, from all their similarities at once."""
    base = partial(BASES[entry.base], **entry.base_options)
    boost = (
        partial(BOOSTS[entry.boost], generator=generator, **_options(entry, tables)) if entry.boost != "none" else None
    )

    def offset(image_ND, text_ND, ids_N, own):
        offset_QN = boost(image_ND, text_ND, ids_N, own=own) if boost else None
        if not entry.mask_duplicates:
            return offset_QN
        if offset_QN is None:
            offset_QN = text_ND.new_zeros(len(text_ND[own]), len(text_ND))
        return leave_out_same(offset_QN, _classes(tables, ids_N, text_ND), own)

    def part(ids_N, smoothing, own, image_ND, text_ND, scale):
        offset_QN = offset(image_ND, text_ND, ids_N, own)
        share = len(image_ND[own]) / len(image_ND)
        if share == 0:  # more processes than rows
            return (image_ND.sum() + text_ND.sum()) * 0
        return share * base(image_ND, text_ND, scale, offset_QN, own=own, **smoothing)

    return part


def _tiled(entry: LossEntry, tables: Tables, tile: int):
    """The own rows' part of the loss, tile by tile."""
    entry.check_tiled()
    factored, options = FACTORED[entry.boost], _options(entry, tables)

    def part(ids_N, smoothing, own, image_ND, text_ND, scale):
        boosted = factored(image_ND.detach(), text_ND.detach(), ids_N, **options)
        class_N = _classes(tables, ids_N, text_ND) if entry.mask_duplicates else None
        return tiled_info_nce(image_ND, text_ND, scale, boosted, **smoothing, class_N=class_N, tile=tile, own=own)

    return part


def _options(entry: LossEntry, tables: Tables) -> dict[str, Any]:
    """What the boost is given beside the rows."""
    return entry.boost_options | ({"table_MD": tables.frozen_MD} if entry.boost == "frozen" else {})


def _classes(tables: Tables, ids_N: torch.Tensor, text_ND: torch.Tensor) -> torch.Tensor:
    """Equal for rows whose captions are the very same words, int64 [N]."""
    return tables.text_class_M[ids_N.to(tables.text_class_M.device)].to(text_ND.device)


def _single(rows_ND: torch.Tensor) -> torch.Tensor:
    """The rows in fp32; those of float64 as they are."""
    return rows_ND.to(torch.promote_types(rows_ND.dtype, torch.float32))
