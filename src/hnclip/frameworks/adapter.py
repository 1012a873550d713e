"""Small residual maps of cached embeddings, trained with the global image-caption term; the towers stay as they are.

A study of losses on any encoder whose embeddings are at hand, in seconds a cell on a CPU, at batches of thousands.
"""

from dataclasses import dataclass
from typing import Literal

from hnclip.frameworks.base import Batch, Framework
from hnclip.models.cached import CachedTowers


@dataclass(frozen=True)
class Options:
    """layers: 1 is a linear map, 2 a perceptron with `hidden` units; sides: whose embeddings are mapped."""

    layers: Literal[1, 2] = 1
    hidden: int = 512
    sides: Literal["both", "image", "text"] = "both"

    def __post_init__(self):
        if self.hidden < 1:
            raise ValueError(f"hidden must be 1 or more, not {self.hidden}")


class Adapter(Framework):
    """Each side's embedding plus what a small map learned of it."""

    Options = Options
    fields = ("image_vector", "text_vector")

    def adapt(self, backbone: CachedTowers) -> CachedTowers:
        if not isinstance(backbone, CachedTowers):
            raise ValueError(
                "framework adapter trains on the inputs embeddings: name them under `inputs` of its entry in the config"
            )
        sides = ("image", "text") if self.options.sides == "both" else (self.options.sides,)
        hidden = self.options.hidden if self.options.layers == 2 else None
        adapted = CachedTowers(backbone.widths, 1.0, hidden, sides)
        adapted.clip = backbone.clip  # the scale, which a loss may have fixed
        return adapted

    def encode(self, batch: Batch) -> Batch:
        image_ND, _ = self.backbone.image(batch["image_vector"])
        text_ND, _ = self.backbone.text(batch["text_vector"])
        return {"image": image_ND, "text": text_ND}

    def losses(self, z, step, contrastive):
        return {"global": contrastive(z["image"], z["text"], self.backbone.scale(), step.ids_N)}
