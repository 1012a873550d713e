"""FineLIP (arXiv 2504.01916): merged tokens of images and captions by late interaction, beside the global term."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from hnclip.data.split import Split
from hnclip.frameworks.base import Batch, Framework
from hnclip.losses.late import late_similarity, shared_similarity
from hnclip.losses.triplet import triplet_all, triplet_hardest
from hnclip.models.aggregation import TokenAggregator, image_tokens, text_tokens
from hnclip.models.backbone import Backbone

TRIPLETS = {"all": triplet_all, "hardest": triplet_hardest}
COSINE_SHARE = 0.8  # of the cosine in the token-level score; the rest is the late interaction's
SCORED = 256  # images, and captions, whose tokens are compared at once after training


@dataclass(frozen=True)
class Options:
    """Weights of the two terms, and the released recipe of the token-level one.

    `global_weight` 0 gives the released objective. `ratio` is the share of an image's patches that are left after
    merging; captions are merged to as many tokens. `module_lr` is the peak learning rate of the two merging modules.
    `ramp` multiplies the triplet term by the share of the first epoch that is done, in that epoch.
    """

    global_weight: float = 1.0
    triplet_weight: float = 1.0
    margin: float = 0.2
    ratio: float = 0.2
    negatives: Literal["all", "hardest"] = "all"
    module_lr: float = 2e-4
    ramp: bool = True

    def __post_init__(self):
        problems = [
            f"`{name}` must be at least 0, not {getattr(self, name)}"
            for name in ("global_weight", "triplet_weight", "margin", "module_lr")
            if getattr(self, name) < 0
        ]
        if self.global_weight == self.triplet_weight == 0:
            problems.append("`global_weight` and `triplet_weight` are both 0: nothing would be trained")
        if not 0 < self.ratio <= 1:
            problems.append(f"`ratio` is a share above 0, up to 1, not {self.ratio}")
        if problems:
            raise ValueError("; ".join(problems))


class FineLip(Framework):
    """The global term, boosted by the study, and the plain triplet loss of the token-level score."""

    needs = ("token_states",)
    Options = Options

    def __init__(self, backbone: Backbone, options: Options):
        super().__init__(backbone, options)
        width = self.backbone.architecture["embed_dim"]
        count = max(1, int(options.ratio * self.backbone.patch_grid**2))
        self.image_aggregator = TokenAggregator(width, count)
        self.text_aggregator = TokenAggregator(width, count)

    def encode(self, batch: Batch) -> Batch:
        image_ND, patches = self.backbone.image(batch["image"])
        text_ND, words = self.backbone.text(batch["text"], batch["text_length"])
        return {
            "image": image_ND,
            "text": text_ND,
            "image_tokens": self._image_tokens(patches),
            "text_tokens": self._text_tokens(words, batch["text_length"]),
        }

    def losses(self, z, step, contrastive):
        options = self.options
        score_NN = shared_similarity(z["image_tokens"], z["text_tokens"])
        ramp = step.share if options.ramp and step.epoch == 0 else 1.0
        triplet = TRIPLETS[options.negatives](score_NN, options.margin)
        return {
            "global": self._global(z, step, contrastive),
            "triplet": options.triplet_weight * ramp * triplet,
        }

    def _global(self, z, step, contrastive):
        """The weighted global term; at weight 0 the scale gets no gradient at all, so that it does not decay either."""
        if self.options.global_weight == 0:
            return z["image"].new_zeros(())
        return self.options.global_weight * contrastive(z["image"], z["text"], self.backbone.scale(), step.ids_N)

    def parameter_groups(self, lr: float) -> Iterable[dict[str, Any]]:
        module = [*self.image_aggregator.parameters(), *self.text_aggregator.parameters()]
        yield {"params": [weight for weight in self.backbone.parameters() if weight.requires_grad], "lr": lr}
        yield {"params": module, "lr": self.options.module_lr}

    @torch.no_grad()
    def rescored(
        self, split: Split, image_ID: torch.Tensor, text_CD: torch.Tensor, batch: int
    ) -> dict[str, torch.Tensor]:
        """`tokens`: 0.8 times the cosine and 0.2 times the late interaction, [I, C] on the CPU (FineLIP*)."""
        device = self.backbone.mean.device
        image_IKD, text_CKD = self._split_tokens(split, batch)
        score_IC = COSINE_SHARE * (image_ID.float() @ text_CD.float().T)
        for image in range(0, len(image_IKD), SCORED):
            rows_IKD = image_IKD[image : image + SCORED].to(device)
            for text in range(0, len(text_CKD), SCORED):
                late_IC = late_similarity(rows_IKD, text_CKD[text : text + SCORED].to(device))
                score_IC[image : image + SCORED, text : text + SCORED] += (1 - COSINE_SHARE) * late_IC.cpu()
        return {"tokens": score_IC}

    def _split_tokens(self, split: Split, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit tokens of the split's images [I, 1 + K, D] and captions [C, K + 1, D], on the CPU."""
        device = self.backbone.mean.device
        kept = 1 + self.image_aggregator.count, self.backbone.architecture["embed_dim"]
        image_IKD, text_CKD = torch.empty(len(split.pixels), *kept), torch.empty(len(split.tokens), *kept)
        for start in range(0, len(split.pixels), batch):
            rows = np.arange(start, min(start + batch, len(split.pixels)))
            image_IKD[rows] = self._image_tokens(self.backbone.image(split.image_batch(rows).to(device))[1]).cpu()
        for rows, *given in split.tokens.by_length(batch):
            ids_NT, length_N = (tensor.to(device) for tensor in given)
            text_CKD[rows] = self._text_tokens(self.backbone.text(ids_NT, length_N)[1], length_N).cpu()
        return image_IKD, text_CKD

    def _image_tokens(self, states: torch.Tensor) -> torch.Tensor:
        return image_tokens(self.image_aggregator, self.backbone.project_patches(states))

    def _text_tokens(self, states: torch.Tensor, length_N: torch.Tensor) -> torch.Tensor:
        return text_tokens(self.text_aggregator, self.backbone.project_words(states), length_N)
