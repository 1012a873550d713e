"""Trains a cell once more and looks at the gradients of two losses on its way.

`python -m hnclip.audit runs/CELL/config.json audit.json runs/CELL runs/CELL/audit.parquet` writes one row a
measurement and precision. The weights that it ends with must be those in runs/CELL, bit for bit; `same_weights` says
so.
"""

import argparse
import json
import signal
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open

from hnclip.command import run
from hnclip.gradient_pair import Gradient, gradient
from hnclip.losses.objective import Contrastive, LossEntry
from hnclip.models.checkpoints import file_weights
from hnclip.options import from_dict
from hnclip.store import read_json, write_rows
from hnclip.train import Trainer

SIDES = ("plain", "boosted")


@dataclass(frozen=True)
class Audit:
    """What is measured: before every so many optimiser steps the two losses, in each of the precisions."""

    every: int
    plain: dict
    boosted: dict
    precisions: tuple[Literal["32-true", "16-mixed", "bf16-mixed"], ...]

    def __post_init__(self):
        if self.every < 1:
            raise ValueError(f"`every` is a number of optimiser steps, at least 1, not {self.every}")
        if "32-true" not in self.precisions or len(set(self.precisions)) < len(self.precisions):
            raise ValueError(f"`precisions` names 32-true and each further one once, not {list(self.precisions)}")


class Auditor(Trainer):
    """A trainer that measures on the first batch of a step before it takes the step, and leaves no other trace.

    A loss that draws, draws what it would in training. The split scores of a run and its checkpoints are left out.
    """

    def __init__(self, config: dict[str, Any], folder: Path, audit: Audit):
        super().__init__(config, folder)
        if self.recipe.processes > 1:
            raise ValueError(f"{config['cell']} is trained by {self.recipe.processes} processes, and an audit has one")
        self.audit = audit
        self.terms = {side: self._term(side, getattr(audit, side)) for side in SIDES}
        self.measured: list[dict[str, Any]] = []
        self.refused: dict[str, str] = {}

    def _term(self, side: str, options: dict[str, Any]) -> Contrastive:
        """The loss of an entry; one with a scale of its own is measured at that scale, else at the run's."""
        entry = from_dict(LossEntry, options, f"audit: loss {side!r}")
        if entry.boost == "frozen" and "embeddings" not in self.config["data"]["train"]:
            raise ValueError(
                f"audit: loss {side!r} needs the frozen embeddings of the training captions, which cell "
                f"{self.config['cell']} does not have: audit cells of such a loss only, or measure another loss"
            )
        term = self._contrastive(entry)
        if entry.scale is None:
            return term
        fixed = torch.tensor(entry.scale, device=self.fabric.device)
        return lambda image_ND, text_ND, scale, *more, **named: term(image_ND, text_ND, fixed, *more, **named)

    def _optimise(self, batches: list[np.ndarray], factor: float) -> None:
        if self.progress.step % self.audit.every:
            super()._optimise(batches, factor)
            return
        rows = self._measure(batches[0])
        before = [weight.detach().clone() for weight in self._trained()]
        super()._optimise(batches, factor)
        squares = [(now - was).double().square().sum() for now, was in zip(self._trained(), before, strict=True)]
        rows[0]["update_norm"] = float(sum(squares).sqrt())
        self.measured += [{**row, "loss_trained": self.progress.rows[-1]["loss"]} for row in rows]

    @torch.no_grad()
    def _trained(self) -> list[torch.Tensor]:
        return [weight.detach() for weight in self.framework.parameters() if weight.requires_grad]

    def _measure(self, images: np.ndarray) -> list[dict[str, Any]]:
        """A row for each precision, the first of 32-true; random state and gradients are left as they were."""
        self.model.train()
        rows = []
        for precision in sorted(self.audit.precisions, key="32-true".__ne__):
            if precision in self.refused:
                continue
            try:
                found = {side: self._gradient(images, side, precision) for side in SIDES}
            except (RuntimeError, NotImplementedError) as error:
                self._refuse(precision, error)
                continue
            rows.append(self._row(precision, len(images), **found))
        return rows

    def _gradient(self, images: np.ndarray, side: str, precision: str) -> Gradient:
        batch, ids_N = self._pairs(images)
        self._seed_draws()
        on_gpu = self.fabric.device.type == "cuda"
        with torch.random.fork_rng(devices=[self.fabric.device] if on_gpu else []):
            return gradient(
                self.framework, batch, self._step_of()(ids_N), self.terms[side], precision, self.recipe.chunk
            )

    def _refuse(self, precision: str, error: Exception) -> None:
        """Note that this device cannot compute in a precision; any other failure goes its way."""
        known = any(row["precision"] == precision for row in self.measured)
        if precision == "32-true" or known or isinstance(error, torch.OutOfMemoryError):
            raise error
        self.refused[precision] = str(error).strip().splitlines()[0]
        print(f"{precision} is not measured, this device refuses it: {self.refused[precision]}", flush=True)

    def _row(self, precision: str, pairs: int, plain: Gradient, boosted: Gradient) -> dict[str, Any]:
        return {
            "step": self.progress.step,
            "epoch": self.progress.epoch,
            "precision": precision,
            "pairs": pairs,
            "loss_plain": plain.loss,
            "loss_boosted": boosted.loss,
            "norm_plain": plain.norm,
            "norm_boosted": boosted.norm,
            "cosine": plain.cosine(boosted),
            "zeros_plain": plain.zeros(),
            "zeros_boosted": boosted.zeros(),
            "update_norm": float("nan"),
            "scale": self.framework.backbone.scale().item(),
            "gap": plain.gap,
        }

    def _evaluate(self, last: bool) -> pd.DataFrame:
        return pd.DataFrame()

    def _keep(self, checkpoint: Path, due: bool) -> None:
        """No checkpoints: an audit that is ended begins anew."""
        if self.deadline.signalled:
            raise SystemExit(128 + signal.SIGTERM)

    def _write(self, ranks: pd.DataFrame, record: dict[str, Any]) -> None:
        self.weights = file_weights(self.framework.trained_backbone(), self.framework.extra_weights())


def differing(weights: dict[str, torch.Tensor], path: Path) -> list[str]:
    """The names of weights that are not the same in a file, bit for bit, or are on one side only."""
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        return sorted(
            name
            for name in names | weights.keys()
            if name not in names or name not in weights or not torch.equal(file.get_tensor(name), weights[name])
        )


def main(config: Path, audit: Path, folder: Path, out: Path) -> None:
    """Audit one cell. Raises FileNotFoundError where its run is not finished, ValueError for a wrong audit.json."""
    weights = folder / "weights.safetensors"
    if not weights.is_file():
        raise FileNotFoundError(f"{folder} is no finished run: it lacks weights.safetensors; train the cell first")
    options = from_dict(Audit, read_json(audit), str(audit))
    with TemporaryDirectory() as empty:
        auditor = Auditor(read_json(config), Path(empty), options)
        auditor.run()
    others = differing(auditor.weights, weights)
    rows = [{**row, "same_weights": not others} for row in auditor.measured]
    steps = len({row["step"] for row in rows})
    ending = "the same" if not others else f"not the same ({len(others)} of {len(auditor.weights)} tensors differ)"
    print(f"{steps} measurements; weights after the last step: {ending} as in {weights}")
    record = {"audit": read_json(audit), "refused": auditor.refused, "device": auditor.fabric.device.type}
    record["steps_an_epoch"] = auditor.data.steps_an_epoch
    write_rows(out, rows, {"audit": json.dumps(record, sort_keys=True)})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.audit", description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path, help="the cell's config.json")
    parser.add_argument("audit", type=Path, help="audit.json: the two losses, the precisions, how often")
    parser.add_argument("folder", type=Path, help="the cell's finished run")
    parser.add_argument("out", type=Path, help="the table to write")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
