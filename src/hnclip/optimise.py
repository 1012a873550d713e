"""One optimiser step of a cell: the gradient of its batches over all processes, and what is logged of it."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn

from hnclip import gradients
from hnclip.checkpoint import Progress
from hnclip.frameworks.base import Batch, Framework, Step
from hnclip.losses.objective import Contrastive
from hnclip.parts import Chunk
from hnclip.processes import average_gradients, least, rank, world
from hnclip.recipe import Recipe
from hnclip.sharded import clip_gradients
from hnclip.training_data import TrainingData


class Steps:
    """What a trainer does in a step; `hnclip.train.Trainer` sets up all that it reads."""

    recipe: Recipe
    seed: int
    data: TrainingData
    fabric: Fabric
    framework: Framework
    model: nn.Module  # the framework as Fabric wraps it
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler | None  # of fp16
    generator: torch.Generator  # of losses that draw
    chunk: Chunk | None
    contrastive: Contrastive
    progress: Progress

    def _weights(self) -> list[torch.nn.Parameter]:
        """All that is trained."""
        return [weight for group in self.optimiser.param_groups for weight in group["params"]]

    def _optimise(self, batches: list[np.ndarray], factor: float) -> None:
        """One optimiser step: the mean gradient of its batches."""
        self.model.train()
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak_lr"] * factor
        self._seed_draws()
        terms = [self._backward(images, self._step_of(), 1 / len(batches)) for images in batches]
        average_gradients(self._weights())
        self._clip(batches)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self._clamp_scale()
        mean = {f"loss_{name}": float(np.mean([each[name] for each in terms])) for name in terms[0]}
        self.progress.rows.append(
            {
                "kind": "train",
                "step": self.progress.step,
                "epoch": self.progress.epoch,
                "loss": sum(mean.values()),
                **mean,
                "lr": self.recipe.lr * factor,
                "scale": self.framework.backbone.scale().item(),
                "pairs": sum(map(len, batches)),
            }
        )
        self.progress.pairs += sum(map(len, batches))
        if self.chunk is not None:  # of all processes the fewest, so that a run that goes on has the same parts
            self.progress.chunk = self.chunk.rows = least(self.chunk.rows)

    def _seed_draws(self) -> None:
        """What a loss draws follows from the seed and the step alone; what a tower draws, from the process as well."""
        self.generator.manual_seed(self._drawn())
        torch.manual_seed(self._drawn() * world() + rank())

    def _drawn(self) -> int:
        return self.seed * 1_000_003 + self.progress.step

    def _step_of(self) -> Callable[[torch.Tensor], Step]:
        """From a batch's caption numbers to where in the training its loss is taken."""
        share = self.progress.step_of_epoch / self.data.steps_an_epoch
        return partial(Step, epoch=self.progress.epoch, epochs=self.recipe.epochs, share=share)

    def _pairs(self, images: np.ndarray) -> tuple[Batch, torch.Tensor]:
        """What the framework reads of this process's rows of the batch; the numbers of all its captions, [N]."""
        batch, ids_N = self.data.pairs(images, self.progress.epoch)
        device = self.fabric.device
        return {key: batch[key].to(device) for key in self.framework.fields}, ids_N.to(device)

    def _backward(self, images: np.ndarray, step_of: Callable, share: float) -> dict[str, float]:
        batch, ids_N = self._pairs(images)
        step = step_of(ids_N)

        def losses(z: Batch) -> dict[str, torch.Tensor]:
            if world() > 1:  # what draws among the rows of all must draw alike in every process
                torch.manual_seed(self._drawn())
            return self.framework.losses(z, step, self.contrastive)

        given = losses, batch, self.fabric.backward, share
        if self.chunk is None:
            terms = gradients.whole(self.model, *given, rows=len(images))
        else:
            terms = gradients.chunked(self._encode, *given, rows=len(images), chunk=self.chunk)
        values = {name: term.item() for name, term in terms.items()}
        if not np.isfinite(sum(values.values())):
            self._stop(f"the loss is not finite ({values})", images)
        return values

    def _encode(self, batch: Batch) -> Batch:
        """What the wrapped model does, without its hooks, which forbid a backward pass that starts at embeddings."""
        with self.fabric.autocast():
            z = self.framework(batch)
        return {name: value.float() if value.is_floating_point() else value for name, value in z.items()}

    def _clip(self, batches: list[np.ndarray]) -> None:
        """Bound the gradient's norm once an optimiser step; under fp16 the scaler skips a step that is not finite."""
        if self.recipe.clip_norm is None:
            return
        if self.recipe.strategy == "fsdp":
            norm = clip_gradients(self._weights(), self.recipe.clip_norm)
        else:
            if self.scaler is not None:  # not by Fabric, whose clip_gradients refuses fused optimisers
                self.scaler.unscale_(self.optimiser.optimizer)
            norm = torch.nn.utils.clip_grad_norm_(self._weights(), self.recipe.clip_norm)
        if self.scaler is None and not torch.isfinite(norm):
            self._stop("the gradient is not finite", np.concatenate(batches))

    def _stop(self, what: str, images: np.ndarray) -> None:
        raise ValueError(
            f"{what} at optimiser step {self.progress.step}; the batch: {self.data.ids(images)}. "
            "Look at these images and captions, or lower `lr`, or use precision 32-true"
        )

    def _clamp_scale(self) -> None:
        scale = self.framework.backbone.clip.logit_scale
        if self.recipe.scale_clamp is not None and scale.requires_grad:
            with torch.no_grad():
                scale.clamp_(*self.recipe.scale_clamp)
