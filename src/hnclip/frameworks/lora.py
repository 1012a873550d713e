"""Low-rank adapters (arXiv 2106.09685) on a frozen backbone, with the plain objective of `longclip`."""

from dataclasses import dataclass

import torch

from hnclip.frameworks.longclip import LongClip
from hnclip.models.adapters import adapter_weights, add_adapters, merged
from hnclip.models.backbone import Backbone


@dataclass(frozen=True)
class Options:
    """Rank of the adapters' two factors; alpha / rank is what their product is multiplied by."""

    rank: int = 16
    alpha: int = 16

    def __post_init__(self):
        small = [f"{name} is {value}" for name, value in vars(self).items() if value < 1]
        if small:
            raise ValueError(f"rank and alpha must be 1 or more, but {' and '.join(small)}")


class Lora(LongClip):
    """Query, key, value and output projections of both towers are adapted; nothing else is trained."""

    needs = ("clip_blocks",)
    Options = Options

    def adapt(self, backbone: Backbone) -> Backbone:
        return add_adapters(backbone, self.options.rank, self.options.alpha, dora=False)

    def trained_backbone(self) -> Backbone:
        return merged(self.backbone)

    def extra_weights(self) -> dict[str, torch.Tensor]:
        return adapter_weights(self.backbone)
