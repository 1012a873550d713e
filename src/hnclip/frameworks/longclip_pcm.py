"""Long-CLIP's own objective (arXiv 2403.15378): long captions, and short ones against the images' main components."""

from dataclasses import dataclass
from typing import Literal

import torch

from hnclip.frameworks.base import Batch, Framework
from hnclip.losses.contrastive import info_nce
from hnclip.losses.principal import COMPONENTS, principal
from hnclip.models.backbone import Backbone
from hnclip.models.stacked import stacked
from hnclip.models.stretch import KEPT


@dataclass(frozen=True)
class Options:
    """The released recipe, but for `pca`.

    `short_weight` is 1 in the released code and 0.1 in its first version. `pca: global` takes the components of the
    whole batch; `local` those of each `local_rows` rows in turn, as many as one device of the released run held.
    `frozen_positions` text positions from the first are not trained.
    """

    short_weight: float = 1.0
    components: int = COMPONENTS
    label_smoothing: float = 0.1
    pca: Literal["global", "local"] = "global"
    local_rows: int | None = None
    frozen_positions: int = KEPT

    def __post_init__(self):
        problems = []
        if self.short_weight < 0:
            problems.append(f"`short_weight` must be at least 0, not {self.short_weight}")
        if self.components < 1:
            problems.append(f"`components` must be at least 1, not {self.components}")
        if not 0 <= self.label_smoothing < 1:
            problems.append(f"`label_smoothing` is a share, 0 to below 1, not {self.label_smoothing}")
        if (self.pca == "local") != (self.local_rows is not None):
            problems.append("`local_rows` belongs to `pca: local`: give both or none")
        if self.local_rows is not None and self.local_rows < 1:
            problems.append(f"`local_rows` must be at least 1, not {self.local_rows}")
        if self.frozen_positions < 0:
            problems.append(f"`frozen_positions` must be at least 0, not {self.frozen_positions}")
        if problems:
            raise ValueError("; ".join(problems))


class LongClipPcm(Framework):
    """Two branches: the long caption's, which a study boosts, and the short caption's, always plain."""

    fields = ("image", "text", "text_length", "short_text", "short_length")
    needs = ("text_positions",)
    Options = Options

    def adapt(self, backbone: Backbone) -> Backbone:
        if self.options.frozen_positions:
            backbone.freeze_first_positions(self.options.frozen_positions)
        return backbone

    def encode(self, batch: Batch) -> Batch:
        image_ND, _ = self.backbone.image(batch["image"], states=0)
        ids, lengths = stacked(batch["text"], batch["short_text"]), (batch["text_length"], batch["short_length"])
        text_ND, short_ND = self.backbone.text(ids, torch.cat(lengths), states=0)[0].chunk(2)
        return {"image": image_ND, "text": text_ND, "short": short_ND}

    def losses(self, z, step, contrastive):
        options, scale = self.options, self.backbone.scale()
        main_ND = self._main_components(z["image"])
        short = info_nce(main_ND, z["short"], scale, label_smoothing=options.label_smoothing)
        return {
            "global": contrastive(z["image"], z["text"], scale, step.ids_N, label_smoothing=options.label_smoothing),
            "short": options.short_weight * short,
        }

    def _main_components(self, image_ND: torch.Tensor) -> torch.Tensor:
        if self.options.pca == "global":
            return principal(image_ND, self.options.components)
        return torch.cat([principal(rows, self.options.components) for rows in image_ND.split(self.options.local_rows)])
