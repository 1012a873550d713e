"""What a framework is: how rows are encoded, and how encoded rows are compared."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from hnclip.data.split import Split
from hnclip.losses.objective import Contrastive
from hnclip.models.backbone import Backbone

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Step:
    """Where in the training a loss is taken: the batch's caption numbers, the epoch of how many, its share done."""

    ids_N: torch.Tensor
    epoch: int
    epochs: int
    share: float


@dataclass(frozen=True)
class NoOptions:
    """A framework without options of its own."""


class Framework(nn.Module, ABC):
    """A fine-tuning method on top of a backbone.

    `encode` treats rows alone, so a batch may be encoded in chunks; `losses` compares rows and sees only what
    `encode` returned. A framework calls the `contrastive` it is handed for the global image-caption term, the one
    that a study boosts, and imports `info_nce` for pairs that stay plain. `fields` names what `encode` reads of a
    batch (hnclip.inputs.FIELDS lists what further inputs bring). `needs` names what a backbone must have for it
    (hnclip.architecture.NEEDS); a file spells it out, so that a config is checked without torch.
    """

    fields: ClassVar[tuple[str, ...]] = ("image", "text", "text_length")
    needs: ClassVar[tuple[str, ...]] = ()
    Options: ClassVar[type] = NoOptions

    def __init__(self, backbone: Backbone, options: Any):
        super().__init__()
        self.options = options
        self.backbone = self.adapt(backbone)

    def adapt(self, backbone: Backbone) -> Backbone:
        """What is changed in the backbone before training."""
        return backbone

    @abstractmethod
    def encode(self, batch: Batch) -> Batch:
        """Rows in, rows out: every tensor's first axis is the row."""

    @abstractmethod
    def losses(self, z: Batch, step: Step, contrastive: Contrastive) -> dict[str, torch.Tensor]:
        """The named terms, weighted, whose sum is minimised."""

    def forward(self, batch: Batch) -> Batch:
        return self.encode(batch)

    def parameter_groups(self, lr: float) -> Iterable[dict[str, Any]]:
        """The trained parameters with their peak learning rates."""
        yield {"params": [weight for weight in self.parameters() if weight.requires_grad], "lr": lr}

    def trained_backbone(self) -> Backbone:
        """The trained towers in open_clip's plain layout, as they are saved."""
        return self.backbone

    def extra_weights(self) -> dict[str, torch.Tensor]:
        """What belongs to the method beside the towers, saved with them."""
        return {name: value for name, value in self.state_dict().items() if not name.startswith("backbone.")}

    def rescored(
        self, split: Split, image_ID: torch.Tensor, text_CD: torch.Tensor, batch: int
    ) -> dict[str, torch.Tensor]:
        """Scores of all image-caption pairs [I, C] that the method has beside the cosine, by name.

        Asked for after the last epoch; `batch` bounds the rows encoded at once. Each becomes a result of its own.
        """
        return {}
