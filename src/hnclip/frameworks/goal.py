"""GOAL (CVPR 2025): global and local pairs, and regions and sentences inside the global ones drawn to the local."""

from dataclasses import dataclass

import torch
from torch.nn.functional import normalize

from hnclip.frameworks.base import Batch, Framework
from hnclip.losses.alignment import misalignment
from hnclip.losses.kept import kept_info_nce
from hnclip.losses.regions import patch_mask, pooled, span_mask
from hnclip.models.stacked import stacked


@dataclass(frozen=True)
class Options:
    """Weights of the local pairs and of the two halves of the token similarity, as released."""

    local_weight: float = 0.5
    region_weight: float = 1.0
    span_weight: float = 1.0

    def __post_init__(self):
        negative = [f"{name} is {value}" for name, value in vars(self).items() if value < 0]
        if negative:
            raise ValueError(f"weights must be 0 or more, but {' and '.join(negative)}")


class Goal(Framework):
    """The best region of an image and its sentence are a pair of their own; a pair without one has only itself.

    A region or a sentence inside its image or caption is the mean of its token states, through the tower's own
    last norm and projection. It is drawn to the embedding of the crop or of the sentence alone, which moves too.
    """

    fields = (
        "image",
        "text",
        "text_length",
        "crop",
        "crop_box",
        "crop_text",
        "crop_text_length",
        "has_crop",
        "span",
    )
    Options = Options

    def encode(self, batch: Batch) -> Batch:
        backbone, pairs = self.backbone, len(batch["image"])
        image_ND, patches = backbone.image(torch.cat([batch["image"], batch["crop"]]))
        text_ND, words = backbone.text(
            stacked(batch["text"], batch["crop_text"]), torch.cat([batch["text_length"], batch["crop_text_length"]])
        )
        patch_NP = patch_mask(batch["crop_box"], backbone.preprocess.size, backbone.patch_size)
        word_NT = span_mask(batch["span"], words.shape[1])
        region_NW, span_NW = pooled(patches[:pairs, 1:], patch_NP), pooled(words[:pairs], word_NT)
        return {
            "image": image_ND[:pairs],
            "text": text_ND[:pairs],
            "crop": image_ND[pairs:],
            "crop_text": text_ND[pairs:],
            "region": normalize(backbone.project_patches(region_NW).float(), dim=-1),
            "span": normalize(backbone.project_words(span_NW).float(), dim=-1),
            "has_crop": batch["has_crop"],
            "has_region": batch["has_crop"] & patch_NP.any(1),
            "has_span": batch["has_crop"] & word_NT.any(1),
        }

    def losses(self, z, step, contrastive):
        scale, options = self.backbone.scale(), self.options
        return {
            "global": contrastive(z["image"], z["text"], scale, step.ids_N),
            "local": options.local_weight * kept_info_nce(z["crop"], z["crop_text"], scale, z["has_crop"]),
            "region": options.region_weight * misalignment(z["region"], z["crop"], z["has_region"]),
            "span": options.span_weight * misalignment(z["span"], z["crop_text"], z["has_span"]),
        }
