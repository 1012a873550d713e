"""Trains one cell: `python -m hnclip.train runs/CELL/config.json runs/CELL`.

Writes weights.safetensors, log.parquet, ranks.parquet and run.json. Killed at any moment and started again, it goes
on from its last checkpoint to the same weights bit for bit.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from lightning_fabric import Fabric
from rich.console import Console
from rich.progress import track

from hnclip import gradients
from hnclip.checkpoint import load_checkpoint, save_checkpoint
from hnclip.command import run
from hnclip.data.derive.segment_table import read_segments_of
from hnclip.data.sample import caption_of_epoch, epoch_batches, subset
from hnclip.data.split import Split, open_split
from hnclip.encode import device
from hnclip.frameworks import check_fields, create
from hnclip.frameworks.base import Batch, Framework, Step
from hnclip.inputs import filters_by_segments
from hnclip.losses.objective import Contrastive, LossEntry, Tables, contrastive
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from
from hnclip.options import from_dict
from hnclip.recipe import Recipe, lr_factor
from hnclip.record import costs, noted, origin, resident_memory, run_record
from hnclip.scored import line, scored
from hnclip.store import read_json, write_json, write_rows

PARTS = ("cell", "seed", "fraction", "backbone", "framework", "loss", "recipe", "data")


class Trainer:
    """One cell's training, from its resolved config."""

    def __init__(self, config: dict[str, Any], folder: Path):
        missing = [key for key in PARTS if key not in config]
        if missing:
            raise ValueError(f"the cell's config lacks {', '.join(missing)}; it is what hnclip.cell.resolve returns")
        self.config = config
        self.origin = origin(config)
        self.folder = folder
        self.recipe = from_dict(Recipe, config["recipe"], "recipe")
        self.seed = config["seed"]
        self.loss = from_dict(LossEntry, config["loss"], "loss")
        torch.set_num_threads(self.recipe.threads)
        if self.recipe.precision == "16-mixed" and device().type == "cpu":
            raise ValueError("recipe: precision 16-mixed needs a GPU; on a CPU take bf16-mixed or 32-true")
        self.fabric = Fabric(accelerator=device().type, devices=1, precision=self.recipe.precision)
        baseline = resident_memory()
        self.train = open_split(config["data"]["train"], config["framework"], config["backbone"]["transform"])
        self.validation = config["data"]["validation"] and open_split(config["data"]["validation"])
        self.tests = [open_split(record) for record in config["data"]["test"]]
        self.images = self._training_images()
        self.steps_an_epoch = len(list(self._epoch_steps(0)))
        self.framework = self._framework()
        groups = [{"peak_lr": group["lr"], **group} for group in self.framework.parameter_groups(self.recipe.lr)]
        optimiser = torch.optim.AdamW(
            groups, weight_decay=self.recipe.weight_decay, betas=tuple(self.recipe.betas), fused=True
        )
        self.model, self.optimiser = self.fabric.setup(self.framework, optimiser)
        self.costs = costs(self.optimiser, baseline, config)
        self.scaler = getattr(self.fabric._precision, "scaler", None)
        self.generator = torch.Generator(device=self.fabric.device)
        self.contrastive = self._contrastive(self.loss)

    def _training_images(self) -> np.ndarray:
        """Positions of the images that the recipe keeps, and of these the cell's fraction."""
        kept = np.arange(len(self.train.pixels))
        if filters_by_segments(self.config["recipe"]):
            regions = read_segments_of(Path(self.config["data"]["train"]["segments"]), self.train.frame)
            kept = np.flatnonzero(np.isin(self.train.image_ids, regions["id"].unique()))
            print(f"train_filter: {len(kept)} of {len(self.train.pixels)} images have a region that matches a sentence")
        names = self.train.image_ids
        return kept[subset([names[image] for image in kept], self.config["fraction"], self.seed)]

    def _framework(self) -> Framework:
        torch.manual_seed(self.seed)
        backbone = backbone_from(self.config["backbone"])
        if self.loss.scale is not None:
            backbone.fix_scale(self.loss.scale)
        entry = self.config["framework"]
        framework = create(entry["kind"], backbone, entry.get("options", {}))
        check_fields(framework.fields, entry)
        return framework

    def _contrastive(self, entry: LossEntry) -> Contrastive:
        """The entry's image-caption term, with what it needs to know of the training captions."""
        frozen_MD = text_class_M = None
        if entry.boost == "frozen":
            rows = pd.read_parquet(self.config["data"]["train"]["embeddings"], columns=["text"])
            frozen_MD = torch.from_numpy(np.stack(rows["text"].to_numpy())).to(self.fabric.device)
        if entry.mask_duplicates:
            classes = pd.factorize(self.train.frame["caption"])[0]
            text_class_M = torch.from_numpy(classes.astype(np.int64)).to(self.fabric.device)
        return contrastive(entry, self.generator, Tables(frozen_MD, text_class_M))

    def run(self) -> None:
        """Train to the last epoch and write the results."""
        with noted() as self.said:
            self._train()

    def _train(self) -> None:
        checkpoint = self.folder / "checkpoint.pt"
        self.progress = load_checkpoint(checkpoint, self.origin, self.framework, self.optimiser, self.scaler)
        if len(self.images) < self.recipe.batch:
            print(f"a batch has all {len(self.images)} pairs, fewer than the {self.recipe.batch} of `batch`")
        steps = self.steps_an_epoch * self.recipe.epochs
        quiet = not sys.stderr.isatty()
        remaining = range(self.progress.step, steps)
        for step in track(remaining, self.config["cell"], console=Console(stderr=True), disable=quiet):
            started = time.perf_counter()
            if self.progress.step_of_epoch == 0 or step == remaining.start:
                batches = list(self._epoch_steps(self.progress.epoch))
            self._optimise(batches[self.progress.step_of_epoch], lr_factor(self.recipe, step, steps))
            self.progress.step += 1
            self.progress.step_of_epoch += 1
            self.progress.seconds += time.perf_counter() - started
            if self.progress.step_of_epoch == self.steps_an_epoch:
                ranks = self._evaluate(last=self.progress.step == steps)
                self.progress.epoch += 1
                self.progress.step_of_epoch = 0
            if self.progress.step % self.recipe.checkpoint_every == 0 or self.progress.step == steps:
                self._save(checkpoint)
        if not len(remaining):  # killed between the last checkpoint and the results
            ranks = self._evaluate(last=True)
            del self.progress.rows[-len(self._evaluated()) :]
        self._write(ranks)
        checkpoint.unlink(missing_ok=True)

    def _epoch_steps(self, epoch: int) -> Iterator[list[np.ndarray]]:
        """The batches of image positions of each optimiser step of an epoch."""
        batches = epoch_batches(self.images, self.recipe.batch, self.seed, epoch)
        for start in range(0, len(batches), self.recipe.accumulate):
            yield batches[start : start + self.recipe.accumulate]

    def _optimise(self, batches: list[np.ndarray], factor: float) -> None:
        """One optimiser step: the mean gradient of its batches."""
        self.model.train()
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak_lr"] * factor
        self._seed_draws()
        terms = [self._backward(images, self._step_of(), 1 / len(batches)) for images in batches]
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

    def _seed_draws(self) -> None:
        """What a loss draws follows from the seed and the step alone."""
        self.generator.manual_seed(self.seed * 1_000_003 + self.progress.step)

    def _step_of(self) -> Callable[[torch.Tensor], Step]:
        """From a batch's caption numbers to where in the training its loss is taken."""
        share = self.progress.step_of_epoch / self.steps_an_epoch
        return partial(Step, epoch=self.progress.epoch, epochs=self.recipe.epochs, share=share)

    def _pairs(self, images: np.ndarray) -> tuple[Batch, torch.Tensor]:
        """What the framework reads of these images and their captions of this epoch; the captions' numbers, [N]."""
        captions = caption_of_epoch(images, self.train.caption_start, self.seed, self.progress.epoch)
        batch = self.train.pair_batch(images, captions)
        ids_N = torch.from_numpy(captions).to(self.fabric.device)
        return {key: batch[key].to(self.fabric.device) for key in self.framework.fields}, ids_N

    def _backward(self, images: np.ndarray, step_of: Callable, share: float) -> dict[str, float]:
        batch, ids_N = self._pairs(images)
        step = step_of(ids_N)
        losses = lambda z: self.framework.losses(z, step, self.contrastive)  # noqa: E731
        if self.recipe.chunk is None:
            terms = gradients.whole(self.model, losses, batch, self.fabric.backward, share)
        else:
            chunk = self.recipe.chunk
            terms = gradients.chunked(self._encode, losses, batch, self.fabric.backward, share, chunk=chunk)
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
        norm = self.fabric.clip_gradients(
            self.model, self.optimiser, max_norm=self.recipe.clip_norm, error_if_nonfinite=False
        )
        if self.scaler is None and not torch.isfinite(norm):
            self._stop("the gradient is not finite", np.concatenate(batches))

    def _stop(self, what: str, images: np.ndarray) -> None:
        ids = ", ".join(self.train.image_ids[image] for image in images)
        raise ValueError(
            f"{what} at optimiser step {self.progress.step}; the batch: {ids}. "
            "Look at these images and captions, or lower `lr`, or use precision 32-true"
        )

    def _clamp_scale(self) -> None:
        scale = self.framework.backbone.clip.logit_scale
        if self.recipe.scale_clamp is not None and scale.requires_grad:
            with torch.no_grad():
                scale.clamp_(*self.recipe.scale_clamp)

    def _evaluated(self) -> list[Split]:
        """The split that is only watched, where there is one, and those that are reported."""
        return [self.validation, *self.tests] if self.validation else self.tests

    def _evaluate(self, last: bool) -> pd.DataFrame:
        """Ranks on every test split, if any, after the current epoch; their R@1 and that on validation go to the log.

        After the `last` epoch come the ranks by each further score that the framework has.
        """
        started = time.perf_counter()
        self.framework.eval()
        found = []
        for split in self._evaluated():
            further = last and split is not self.validation
            score, ranks = scored(self.framework, split, self.recipe.eval_batch, further)
            self.progress.rows.append({"kind": "eval", "epoch": self.progress.epoch, **score})
            print(line(self.progress.epoch, score), flush=True)
            found += ranks if split is not self.validation else []
        self.progress.evaluation_seconds += time.perf_counter() - started
        return pd.concat(found, ignore_index=True) if found else pd.DataFrame()

    def _save(self, path: Path) -> None:
        save_checkpoint(path, self.origin, self.progress, self.framework, self.optimiser, self.scaler)

    def _write(self, ranks: pd.DataFrame) -> None:
        record = {"warnings": list(self.said)} | run_record(
            self.origin, self.fabric.device, self.progress, [self.train, *self._evaluated()]
        )
        save_backbone(
            self.folder / "weights.safetensors",
            self.framework.trained_backbone(),
            {"cell": self.config["cell"]},
            extra=self.framework.extra_weights(),
        )
        write_rows(self.folder / "log.parquet", self.progress.rows)
        write_rows(self.folder / "ranks.parquet", ranks)
        write_json(self.folder / "run.json", {**record, **self.costs})


def main(config: Path, folder: Path) -> None:
    Trainer(read_json(config), folder).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m hnclip.train", description="Trains one cell.")
    parser.add_argument("config", type=Path, help="the cell's config.json")
    parser.add_argument("folder", type=Path, help="the cell's folder, which the results go into")
    given = parser.parse_args()
    run(lambda: main(given.config, given.folder))
