"""GOAL (CVPR 2025): global and local pairs, and regions and sentences inside the global ones drawn to the local."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch.nn.functional import normalize, pad

from hnclip.frameworks.base import Batch, Framework
from hnclip.losses.alignment import misalignment
from hnclip.losses.kept import kept_info_nce
from hnclip.losses.regions import patch_mask, pooled, span_mask
from hnclip.losses.released import released_box, released_span
from hnclip.models.backbone import Backbone
from hnclip.models.stacked import stacked


@dataclass(frozen=True)
class Options:
    """Weights of the local pairs and of the two halves of the token similarity, as released.

    `placing: released` finds region and sentence inside image and caption where the released code does, which misses
    them: the box scaled by its own size and not the image's, the sentence one token late.
    """

    placing: Literal["true", "released"] = "true"
    local_weight: float = 0.5
    region_weight: float = 1.0
    span_weight: float = 1.0

    def __post_init__(self):
        weights = {name: value for name, value in vars(self).items() if name != "placing"}
        negative = [f"{name} is {value}" for name, value in weights.items() if value < 0]
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
    needs = ("token_states", "clip_tokenizer")
    Options = Options

    def __init__(self, backbone: Backbone, options: Options):
        super().__init__(backbone, options)
        if options.placing == "released":
            self.fields = tuple("image_box" if name == "crop_box" else name for name in self.fields)

    def encode(self, batch: Batch) -> Batch:
        backbone, pairs = self.backbone, len(batch["image"])
        ids = stacked(batch["text"], batch["crop_text"])
        patch_NP, word_NT = self._places(batch, ids.shape[1])
        image_ND, patches = backbone.image(torch.cat([batch["image"], batch["crop"]]), states=pad(patch_NP, (1, 0)))
        lengths = torch.cat([batch["text_length"], batch["crop_text_length"]])
        text_ND, words = backbone.text(ids, lengths, states=word_NT)
        region_NW, span_NW = pooled(patches[:, 1:], patch_NP), pooled(words, word_NT)
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

    def _places(self, batch: Batch, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The patches of each region in its image, and the tokens of each sentence in its caption, as masks."""
        size, patch = self.backbone.preprocess.size, self.backbone.patch_size
        if self.options.placing == "true":
            return patch_mask(batch["crop_box"], size, patch), span_mask(batch["span"], tokens)
        span_N2 = released_span(batch["span"], batch["crop_text_length"] - 2, self.backbone.context)
        return patch_mask(released_box(batch["image_box"], size), size, patch), span_mask(span_N2, tokens)

    def losses(self, z, step, contrastive):
        scale, options = self.backbone.scale(), self.options
        return {
            "global": contrastive(z["image"], z["text"], scale, step.ids_N),
            "local": options.local_weight * kept_info_nce(z["crop"], z["crop_text"], scale, z["has_crop"]),
            "region": options.region_weight * misalignment(z["region"], z["crop"], z["has_region"]),
            "span": options.span_weight * misalignment(z["span"], z["crop_text"], z["has_span"]),
        }
