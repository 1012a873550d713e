"""Trains one cell: `python -m hnclip.train runs/CELL/config.json runs/CELL`.

Writes weights.safetensors, log.parquet, ranks.parquet and run.json. Killed at any moment and started again, it goes
on from its last checkpoint to the same weights bit for bit. Before its SLURM job's time limit, on SIGTERM and on
Ctrl-C it writes one and stops with exit status 75.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from rich.console import Console
from rich.progress import track

from hnclip.cell_framework import framework_of
from hnclip.checkpoint import load_checkpoint, save_checkpoint
from hnclip.command import run
from hnclip.data.split import Split, open_split
from hnclip.deadline import REASONS, Deadline, Stopped
from hnclip.devices import fabric_of
from hnclip.losses.objective import Contrastive, LossEntry, contrastive
from hnclip.models.trained import save_trained
from hnclip.optimise import Steps
from hnclip.options import from_dict
from hnclip.parts import Chunk
from hnclip.processes import alike, most, rank, say
from hnclip.recipe import Recipe, lr_factor
from hnclip.record import costs, noted, origin, resident_memory, run_record
from hnclip.scored import line, scored
from hnclip.sharded import apart, brought_together, keep_whole, shard
from hnclip.store import read_json, remove_unfinished, write_json, write_rows
from hnclip.training_data import TrainingData

PARTS = ("cell", "seed", "fraction", "backbone", "framework", "loss", "recipe", "data")
WEIGHTS = "weights.safetensors"
GOES_ON = 75  # exit status of a training that stopped early and goes on when it is started again (EX_TEMPFAIL)


class Trainer(Steps):
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
        self.fabric = fabric_of(self.recipe)
        baseline = resident_memory()
        self.data = TrainingData(config, self.recipe)
        self.validation = config["data"]["validation"] and open_split(config["data"]["validation"])
        self.tests = [open_split(record) for record in config["data"]["test"]]
        self.framework = framework_of(config, self.recipe, self.loss, self.data.split)
        if self.recipe.strategy == "fsdp":
            shard(self.framework, self.fabric.device)
        groups = apart({"peak_lr": group["lr"], **group} for group in self.framework.parameter_groups(self.recipe.lr))
        optimiser = torch.optim.AdamW(
            list(groups), weight_decay=self.recipe.weight_decay, betas=tuple(self.recipe.betas), fused=True
        )
        self.model, self.optimiser = self.fabric.setup(self.framework, optimiser)
        self.costs = costs(self.optimiser, baseline, config)
        self.scaler = getattr(self.fabric._precision, "scaler", None)
        self.generator = torch.Generator(device=self.fabric.device)
        halved = self._weights() if self.recipe.strategy == "ddp" else ()  # else processes have to encode in step
        self.chunk = self.recipe.chunk and Chunk(self.recipe.chunk, halved)
        self.contrastive = self._contrastive(self.loss)

    def _contrastive(self, entry: LossEntry) -> Contrastive:
        """The entry's image-caption term, with what it needs to know of the training captions."""
        tables = self.data.tables(entry, self.fabric.device)
        return contrastive(entry, self.generator, tables, self.recipe.tile)

    def run(self) -> None:
        """Train to the last epoch and write the results.

        Raises Stopped where the time limit or a signal comes first; a checkpoint is written then.
        """
        checkpoint = self.folder / "checkpoint.pt"
        if rank() == 0:
            remove_unfinished(checkpoint)
            remove_unfinished(self.folder / WEIGHTS)
        with noted() as self.said, Deadline() as self.deadline:
            self._go_on(checkpoint)
            ranks = self._train(checkpoint)
            record = {"warnings": list(self.said)} | run_record(
                self.origin, self.fabric.device, self.progress, [self.data.split, *self._evaluated()]
            )
            keep_whole(self.framework)
            if rank() == 0:
                self._write(ranks, record)
                checkpoint.unlink(missing_ok=True)
            most(0)  # none leaves before the results are written: a launcher may end the others then

    def _go_on(self, checkpoint: Path) -> None:
        """From the checkpoint, where there is one; refused where processes read different ones."""
        self.progress = load_checkpoint(checkpoint, self.origin, self.framework, self.optimiser, self.scaler)
        if not alike(self.progress.step):
            raise ValueError(
                f"process {rank()} goes on at optimiser step {self.progress.step}, another elsewhere: not all nodes "
                f"see the same {checkpoint}; run again when the file system shows it everywhere"
            )
        if self.chunk is not None:
            self.chunk.rows = self.progress.chunk or self.chunk.rows
        if self.progress.epoch:
            self.deadline.took("evaluation", self.progress.evaluation_seconds / self.progress.epoch)

    def _train(self, checkpoint: Path) -> pd.DataFrame:
        """Every step and evaluation that is left; the last epoch's ranks."""
        pairs, steps = len(self.data.images), self.data.steps_an_epoch * self.recipe.epochs
        if pairs < self.recipe.batch:
            say(f"a batch has all {pairs} pairs, fewer than the {self.recipe.batch} of `batch`")
        ranks = self._end_epoch(checkpoint, steps) if self._epoch_is_done() else pd.DataFrame()
        quiet = rank() > 0 or not sys.stderr.isatty()
        remaining = range(self.progress.step, steps)
        for step in track(remaining, self.config["cell"], console=Console(stderr=True), disable=quiet):
            started = time.perf_counter()
            if self.progress.step_of_epoch == 0 or step == remaining.start:
                batches = list(self.data.epoch_steps(self.progress.epoch))
            self._optimise(batches[self.progress.step_of_epoch], lr_factor(self.recipe, step, steps))
            seconds = time.perf_counter() - started
            self.progress.step += 1
            self.progress.step_of_epoch += 1
            self.progress.seconds += seconds
            self.deadline.took("step", seconds)
            due = self.progress.step % self.recipe.checkpoint_every == 0 or self.progress.step == steps
            shared = self.recipe.strategy == "fsdp"  # whose evaluation cannot be broken off to write one
            self._keep(checkpoint, due or (shared and self._epoch_is_done()))
            if self._epoch_is_done():
                ranks = self._end_epoch(checkpoint, steps)
        return ranks

    def _epoch_is_done(self) -> bool:
        """Whether what comes next is the evaluation of the epoch."""
        return self.progress.step_of_epoch == self.data.steps_an_epoch

    def _keep(self, checkpoint: Path, due: bool) -> None:
        """Write a checkpoint where one is due, and where the run has to stop, all processes after the same step."""
        reason = self.deadline.reason(self._epoch_is_done())
        reason = REASONS[most(REASONS.index(reason or ""))]  # of any process
        if due or reason:
            started = time.perf_counter()
            self._save(checkpoint)
            self.deadline.took("save", time.perf_counter() - started)
        if reason:
            raise Stopped(reason)

    def _end_epoch(self, checkpoint: Path, steps: int) -> pd.DataFrame:
        """Evaluate and go to the next epoch; a signal meanwhile leaves a checkpoint before the evaluation."""
        started, logged = time.perf_counter(), len(self.progress.rows)
        try:
            with self.deadline.interruptible(rank() == 0 and self.recipe.strategy == "ddp"):
                ranks = self._evaluate(last=self.progress.step == steps)
        except Stopped:
            del self.progress.rows[logged:]  # they are logged by the evaluation that is then made whole
            self._save(checkpoint)
            raise
        self.deadline.took("evaluation", time.perf_counter() - started)
        self.progress.epoch += 1
        self.progress.step_of_epoch = 0
        return ranks

    def _evaluated(self) -> list[Split]:
        """The split that is only watched, where there is one, and those that are reported."""
        return [self.validation, *self.tests] if self.validation else self.tests

    def _evaluate(self, last: bool) -> pd.DataFrame:
        """R@1 on every split after the current epoch goes to the log.

        Of the `last` epoch are the ranks on every test split, if any, also by each further score of the framework.
        """
        started = time.perf_counter()
        self.framework.eval()
        found, rows = [], []
        for split in self._evaluated():
            kept = last and split is not self.validation
            with brought_together(self.framework):
                score, ranks = scored(self.framework, split, self.recipe.eval_batch, kept)
            rows.append({"kind": "eval", "epoch": self.progress.epoch, **score})
            say(line(self.progress.epoch, score))
            found += ranks
        self.progress.rows += rows
        self.progress.evaluation_seconds += time.perf_counter() - started
        return pd.concat(found, ignore_index=True) if found else pd.DataFrame()

    def _save(self, path: Path) -> None:
        if rank() == 0 or self.recipe.strategy == "fsdp":
            save_checkpoint(path, self.origin, self.progress, self.framework, self.optimiser, self.scaler)

    def _write(self, ranks: pd.DataFrame, record: dict[str, Any]) -> None:
        origin = {"cell": self.config["cell"]}
        extra = self.framework.extra_weights()
        save_trained(self.folder / WEIGHTS, self.framework.trained_backbone(), origin, extra)
        write_rows(self.folder / "log.parquet", self.progress.rows)
        write_rows(self.folder / "ranks.parquet", ranks)
        write_json(self.folder / "run.json", {**record, **self.costs})


def main(config: Path, folder: Path) -> None:
    """Train one cell; one that has to stop early exits with status 75."""
    trainer = Trainer(read_json(config), folder)
    try:
        trainer.run()
    except Stopped as stopped:
        step = trainer.progress.step
        say(
            f"stopped after optimiser step {step}: {stopped}. Started again, it goes on from {folder / 'checkpoint.pt'}"
        )
        raise SystemExit(GOES_ON) from None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m hnclip.train", description="Trains one cell.")
    parser.add_argument("config", type=Path, help="the cell's config.json")
    parser.add_argument("folder", type=Path, help="the cell's folder, which the results go into")
    given = parser.parse_args()
    run(lambda: main(given.config, given.folder))
