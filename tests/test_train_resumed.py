"""A killed run goes on to the same weights bit for bit, and only from a checkpoint of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
from trained_cells import killed_on_the_way, same, trained
from world import entry_of, make_cell

from hnclip import train
from hnclip.checkpoint import Progress
from hnclip.data.tokens import tokenize, write_tokens
from hnclip.frameworks import names
from hnclip.store import read_json, write_rows
from hnclip.train import Trainer

EVERY = [pytest.param(kind, {}, marks=() if kind in ("longclip", "lora") else pytest.mark.slow) for kind in names()]
RECIPES = [{"chunk": 3, "batch": 8}, {"accumulate": 2}, {"chunk": 3, "batch": 8, "precision": "bf16-mixed"}]


@pytest.mark.parametrize(
    ("kind", "recipe"), EVERY + [pytest.param("hnclip", recipe, marks=pytest.mark.slow) for recipe in RECIPES]
)
def test_a_killed_run_resumes_bit_identically(tmp_path, kind, recipe):
    loss = {"base": "infonce", "boost": "captions", "gamma": 0.5}
    recipe = {"epochs": 3, "checkpoint_every": 3, **recipe}
    straight = trained(tmp_path / "straight", framework=entry_of(kind), loss=loss, recipe=recipe)
    resumed = killed_on_the_way(tmp_path / "killed", 5, framework=entry_of(kind), loss=loss, recipe=recipe)
    assert same(straight, resumed)
    for name in ("log.parquet", "ranks.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(straight / name), pd.read_parquet(resumed / name))
    assert not (resumed / "checkpoint.pt").exists()


def test_a_run_killed_before_its_results_are_written_writes_them(tmp_path, monkeypatch):
    straight = trained(tmp_path / "straight")
    config, run = make_cell(tmp_path / "killed")
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_write", lambda trainer, *results: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train.main(config, run)
    train.main(config, run)
    assert same(straight, run)
    for name in ("log.parquet", "ranks.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(straight / name), pd.read_parquet(run / name))


LONGER = {"epochs": 12, "checkpoint_every": 1}


def test_what_a_run_killed_while_it_was_writing_left_is_removed(tmp_path):
    config, run = make_cell(tmp_path, recipe={"epochs": 1})
    for name in (".checkpoint.pt.node.7.part", ".weights.safetensors.node.7.part"):
        (run / name).write_bytes(b"half")
    train.main(config, run)
    assert list(run.glob(".*")) == [] and (run / "weights.safetensors").exists()


def test_fewer_rows_at_once_are_kept_when_a_run_goes_on(tmp_path, monkeypatch):
    """Once there was no room for six rows: a run that goes on takes the same parts, and so ends the same."""
    recipe = {"batch": 8, "chunk": 6, "epochs": 3}
    encode = Trainer._encode

    def encoded(trainer, batch):
        if trainer.progress.step < 2 and len(batch["image"]) > 2:
            raise torch.OutOfMemoryError("no room")
        return encode(trainer, batch)

    monkeypatch.setattr(Trainer, "_encode", encoded)
    straight = trained(tmp_path / "straight", recipe=recipe)
    resumed = killed_on_the_way(tmp_path / "killed", 4, recipe=recipe)
    assert same(straight, resumed)


def test_processes_that_see_different_checkpoints_are_refused(tmp_path, monkeypatch):
    config, run = make_cell(tmp_path)
    monkeypatch.setattr(train, "alike", lambda step: step != 0)
    with pytest.raises(ValueError, match="goes on at optimiser step 0, another elsewhere: not all nodes see"):
        Trainer(read_json(config), run).run()


@pytest.mark.slow
def test_a_run_killed_by_the_system_resumes_bit_identically(tmp_path):
    config, run = make_cell(tmp_path / "killed", recipe=LONGER)
    command = [sys.executable, "-m", "hnclip.train", str(config), str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("epoch 2 "):
            break
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert (run / "checkpoint.pt").exists() and not (run / "weights.safetensors").exists()
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "resumed at optimiser step" in again.stdout
    straight = trained(tmp_path / "straight", recipe=LONGER)
    assert same(straight, run)


def test_a_checkpoint_of_another_config_is_left_aside(tmp_path, capsys):
    config, run = make_cell(tmp_path, recipe={"lr": 1e-3})
    (run / "checkpoint.pt").unlink(missing_ok=True)
    trainer = Trainer(read_json(config), run)
    trainer.progress = Progress(step=4)
    trainer._save(run / "checkpoint.pt")
    config, run = make_cell(tmp_path, recipe={"lr": 1e-2})
    train.main(config, run)
    assert "was made with other config and is not used" in capsys.readouterr().out
    assert same(run, trained(tmp_path / "fresh", recipe={"lr": 1e-2}))


@pytest.mark.parametrize("part", ["manifest", "pixels", "tokens"])
def test_a_checkpoint_of_other_data_is_left_aside(tmp_path, capsys, part):
    config, run = make_cell(tmp_path, pairs=13)
    trainer = Trainer(read_json(config), run)
    trainer.progress = Progress(step=4)
    trainer._save(run / "checkpoint.pt")
    path = Path(read_json(config)["data"]["train"][part])
    if part == "manifest":
        write_rows(path, pd.read_parquet(path).assign(family="all one"))
    elif part == "pixels":
        path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    else:
        write_tokens(path, tokenize(["a cat"] * 13, "clip", 248))
    train.main(config, run)
    assert "was made with other files and is not used" in capsys.readouterr().out


def test_a_damaged_checkpoint_is_left_aside(tmp_path, capsys):
    config, run = make_cell(tmp_path)
    (run / "checkpoint.pt").write_bytes(b"no checkpoint")
    train.main(config, run)
    assert "cannot be read" in capsys.readouterr().out
    assert same(run, trained(tmp_path / "fresh"))
