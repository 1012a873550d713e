"""A framework that takes training steps of one batch, as `accelerator.py` measures them."""

from collections.abc import Callable

import torch

from hnclip import gradients
from hnclip.frameworks.base import Framework, Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.parts import Chunk

PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
LOSSES = {"plain": LossEntry(), "boosted": LossEntry(boost="captions", gamma=0.5)}


class Cell:
    """A framework and its optimiser, which takes steps on one batch under any loss."""

    def __init__(self, framework: Framework, precision: str, batch: dict[str, torch.Tensor], chunk: int | None):
        self.framework, self.dtype = framework, PRECISIONS[precision]
        self.batch = {key: batch[key] for key in self.framework.fields}
        self.update = torch.optim.AdamW(list(self.framework.parameter_groups(1e-6)), fused=True)
        weights = [weight for weight in self.framework.parameters() if weight.requires_grad]
        self.chunk = None if chunk is None else Chunk(chunk, weights)
        device = batch["image"].device
        self.where = Step(torch.arange(len(batch["image"]), device=device), 0, 1, 0.0)
        self.random = torch.Generator(device)

    def encode(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        with torch.autocast(batch["image"].device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            z = self.framework(batch)
        return {name: value.float() if value.is_floating_point() else value for name, value in z.items()}

    def step(self, name: str) -> Callable[[], None]:
        loss = contrastive(LOSSES[name], self.random)

        def take() -> None:
            given = self.encode, lambda z: self.framework.losses(z, self.where, loss), self.batch, torch.Tensor.backward
            if self.chunk is None:
                gradients.whole(*given, 1.0)
            else:
                gradients.chunked(*given, 1.0, chunk=self.chunk)
            self.update.step()
            self.update.zero_grad()

        return take
