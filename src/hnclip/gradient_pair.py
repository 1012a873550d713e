"""The gradients that two losses of one batch give all trained weights, side by side."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch

from hnclip import gradients
from hnclip.frameworks.base import Batch, Framework, Step
from hnclip.losses.objective import Contrastive

AUTOCAST = {"32-true": None, "16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}


@dataclass(frozen=True)
class Gradient:
    """A loss of a batch and its gradient: one tensor a trained weight, None where the loss does not reach it.

    `gap` is the cosine of the pair less that of its hardest negative, mean over queries of both directions.
    """

    loss: float
    gap: float
    weights: int
    values: list[torch.Tensor | None]

    @cached_property
    def norm(self) -> float:
        """Euclidean norm over all trained weights; summed in float64, so that it is 0 for zeros alone."""
        if not self._finite():
            return float("nan")
        norms = [torch.linalg.vector_norm(value, dtype=torch.float64) for value in self.values if value is not None]
        return math.hypot(*map(float, norms))

    def zeros(self) -> float:
        """Share of the trained weights whose gradient is exactly zero; NaN where the loss is not finite."""
        if not self._finite():
            return float("nan")
        return 1 - sum(int(value.count_nonzero()) for value in self.values if value is not None) / self.weights

    def cosine(self, other: "Gradient") -> float:
        """Cosine of two gradients; NaN where one of them is zero or not finite."""
        norms = self.norm * other.norm
        if not norms > 0:
            return float("nan")
        pairs = zip(self.values, other.values, strict=True)
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        return sum(float((a.double() * b.double()).sum()) for a, b in known) / norms

    def _finite(self) -> bool:
        return math.isfinite(self.loss)


def gradient(
    framework: Framework, batch: Batch, step: Step, term: Contrastive, precision: str, chunk: int | None
) -> Gradient:
    """The gradient of a framework's global image-caption term under the loss `term`, and of nothing else.

    Towers run in `precision` and the loss in fp32, as in training, but without a loss scaler. Random state moves
    on, and gradients that the weights held before are gone.
    """
    weights = [weight for weight in framework.parameters() if weight.requires_grad]
    gaps: list[float] = []

    def losses(z: Batch) -> dict[str, torch.Tensor]:
        loss, gap = _global_term(framework, z, step, term)
        gaps.append(gap)
        return {"global": loss}

    encode = _encoder(framework, precision)
    try:
        if chunk is None:
            terms = gradients.whole(encode, losses, batch, torch.Tensor.backward, 1.0)
        else:
            terms = gradients.chunked(encode, losses, batch, torch.Tensor.backward, 1.0, chunk=chunk)
        values = [weight.grad for weight in weights]
    finally:
        for weight in weights:
            weight.grad = None
    return Gradient(float(terms["global"]), gaps[-1], sum(weight.numel() for weight in weights), values)


def _encoder(framework: Framework, precision: str) -> Callable[[Batch], Batch]:
    kind, dtype = next(framework.parameters()).device.type, AUTOCAST[precision]

    def encode(batch: Batch) -> Batch:
        with torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
            z = framework(batch)
        return {name: value.float() if value.is_floating_point() else value for name, value in z.items()}

    return encode


def _global_term(framework: Framework, z: Batch, step: Step, term: Contrastive) -> tuple[torch.Tensor, float]:
    """The loss that the framework asks of `term`, before the framework weights it, and the gap of its cosines."""
    found = []

    def watched(image_ND, text_ND, scale, ids_N, label_smoothing=0.0):
        loss = term(image_ND, text_ND, scale, ids_N, label_smoothing=label_smoothing)
        found.append((loss, hardest_gap(image_ND.detach(), text_ND.detach())))
        return loss

    framework.losses(z, step, watched)
    if len(found) != 1:
        raise ValueError(
            f"the framework asked {len(found)} times for its global image-caption term, and an audit needs it once: "
            "give that term a weight above 0, or audit another framework"
        )
    return found[0]


def hardest_gap(image_ND: torch.Tensor, text_ND: torch.Tensor) -> float:
    """Cosine of the pair less the highest cosine among its negatives, mean over queries of both directions."""
    cosine_NN = image_ND.float() @ text_ND.float().T
    negative_NN = cosine_NN.clone().fill_diagonal_(-torch.inf)
    hardest_N = (negative_NN.amax(0) + negative_NN.amax(1)) / 2
    return float((cosine_NN.diagonal() - hardest_N).mean())
