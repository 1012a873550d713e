"""The trainer: exact large batches, exact resumption, honest records."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from world import entry_of, make_cell, make_crops, make_inputs

from hnclip import train
from hnclip.checkpoint import Progress
from hnclip.data.derive.segment_table import read_segments, write_segments
from hnclip.data.sample import epoch_batches, subset
from hnclip.data.tokens import tokenize, write_tokens
from hnclip.frameworks import names
from hnclip.frameworks.base import Step
from hnclip.store import read_json, write_rows
from hnclip.train import Trainer


def weights(run):
    return load_file(run / "weights.safetensors")


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def trained(folder, **changes):
    config, run = make_cell(folder, **changes)
    train.main(config, run)
    return run


@pytest.fixture
def killed(monkeypatch):
    """Trains a cell, stopped after so many optimiser steps as a kill would stop it, then to its end."""

    def train_in_two(folder, steps, **changes):
        config, run = make_cell(folder, **changes)
        whole_step = Trainer._optimise

        def step_until_killed(trainer, *inputs):
            if trainer.progress.step == steps:
                raise KeyboardInterrupt
            whole_step(trainer, *inputs)

        with monkeypatch.context() as patched:
            patched.setattr(Trainer, "_optimise", step_until_killed)
            with pytest.raises(KeyboardInterrupt):
                train.main(config, run)
        assert (run / "checkpoint.pt").exists() == (steps >= 3)
        assert not (run / "weights.safetensors").exists()
        train.main(config, run)
        return run

    return train_in_two


def slow_unless(kept: tuple[str, ...]) -> list:
    return [kind if kind in kept else pytest.param(kind, marks=pytest.mark.slow) for kind in names()]


@pytest.mark.parametrize("kind", slow_unless(("longclip", "lora")))
def test_two_epochs_lower_the_frameworks_own_loss(tmp_path, kind):
    run = trained(tmp_path, framework=entry_of(kind), recipe={"epochs": 6})
    log = pd.read_parquet(run / "log.parquet")
    by_epoch = log[log["kind"] == "train"].groupby("epoch")["loss"].mean()
    assert by_epoch.iloc[-1] < by_epoch.iloc[0]


EVERY = [pytest.param(kind, {}, marks=() if kind in ("longclip", "lora") else pytest.mark.slow) for kind in names()]
RECIPES = [{"chunk": 3, "batch": 8}, {"accumulate": 2}, {"chunk": 3, "batch": 8, "precision": "bf16-mixed"}]


@pytest.mark.parametrize(
    ("kind", "recipe"), EVERY + [pytest.param("hnclip", recipe, marks=pytest.mark.slow) for recipe in RECIPES]
)
def test_a_killed_run_resumes_bit_identically(tmp_path, killed, kind, recipe):
    loss = {"base": "infonce", "boost": "captions", "gamma": 0.5}
    recipe = {"epochs": 3, "checkpoint_every": 3, **recipe}
    straight = trained(tmp_path / "straight", framework=entry_of(kind), loss=loss, recipe=recipe)
    resumed = killed(tmp_path / "killed", 5, framework=entry_of(kind), loss=loss, recipe=recipe)
    assert same(weights(straight), weights(resumed))
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
    assert same(weights(straight), weights(run))
    for name in ("log.parquet", "ranks.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(straight / name), pd.read_parquet(run / name))


LONGER = {"epochs": 12, "checkpoint_every": 1}


def test_what_a_run_killed_while_it_was_writing_left_is_removed(tmp_path):
    config, run = make_cell(tmp_path, recipe={"epochs": 1})
    for name in (".checkpoint.pt.node.7.part", ".weights.safetensors.node.7.part"):
        (run / name).write_bytes(b"half")
    train.main(config, run)
    assert list(run.glob(".*")) == [] and (run / "weights.safetensors").exists()


def test_fewer_rows_at_once_are_kept_when_a_run_goes_on(tmp_path, killed, monkeypatch):
    """Once there was no room for six rows: a run that goes on takes the same parts, and so ends the same."""
    recipe = {"batch": 8, "chunk": 6, "epochs": 3}
    encode = Trainer._encode

    def encoded(trainer, batch):
        if trainer.progress.step < 2 and len(batch["image"]) > 2:
            raise torch.OutOfMemoryError("no room")
        return encode(trainer, batch)

    monkeypatch.setattr(Trainer, "_encode", encoded)
    straight = trained(tmp_path / "straight", recipe=recipe)
    resumed = killed(tmp_path / "killed", 4, recipe=recipe)
    assert same(weights(straight), weights(resumed))


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
    assert same(weights(straight), weights(run))


def test_a_checkpoint_of_another_config_is_left_aside(tmp_path, killed, capsys):
    config, run = make_cell(tmp_path, recipe={"lr": 1e-3})
    (run / "checkpoint.pt").unlink(missing_ok=True)
    trainer = Trainer(read_json(config), run)
    trainer.progress = Progress(step=4)
    trainer._save(run / "checkpoint.pt")
    config, run = make_cell(tmp_path, recipe={"lr": 1e-2})
    train.main(config, run)
    assert "was made with other config and is not used" in capsys.readouterr().out
    assert same(weights(run), weights(trained(tmp_path / "fresh", recipe={"lr": 1e-2})))


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
    assert same(weights(run), weights(trained(tmp_path / "fresh")))


def test_a_config_that_lacks_parts_is_refused(tmp_path):
    with pytest.raises(ValueError, match="lacks seed, fraction"):
        Trainer({"cell": "a"}, tmp_path)


def gradient(folder, **recipe):
    """The gradient of the first optimiser step, by weight."""
    config, run = make_cell(
        folder, recipe={"clip_norm": None, **recipe}, loss=recipe.pop("loss", LOSS), framework=HNCLIP
    )
    trainer = Trainer(read_json(config), run)
    trainer.progress = Progress()
    found = {}
    trainer.optimiser.step = lambda: found.update(
        {name: weight.grad.clone() for name, weight in trainer.framework.named_parameters() if weight.grad is not None}
    )
    trainer._optimise(next(trainer.data.epoch_steps(0)), 1.0)
    return found


LOSS = {"base": "infonce", "boost": "captions", "gamma": 0.5}
HNCLIP = {"kind": "hnclip"}


@pytest.mark.parametrize("chunk", [1, 3, 8])
def test_chunks_give_the_gradient_of_the_whole_batch(tmp_path, chunk):
    whole = gradient(tmp_path / "whole", batch=8)
    parts = gradient(tmp_path / "parts", batch=8, chunk=chunk)
    assert whole.keys() == parts.keys()
    largest = max(values.abs().max() for values in whole.values())
    assert max((whole[name] - parts[name]).abs().max() for name in whole) / largest < 1e-5


def test_accumulation_is_another_experiment_than_a_large_batch(tmp_path):
    large = gradient(tmp_path / "large", batch=8)
    accumulated = gradient(tmp_path / "accumulated", batch=4, accumulate=2)
    largest = max(values.abs().max() for values in large.values())
    assert max((large[name] - accumulated[name]).abs().max() for name in large) / largest > 1e-2


def test_accumulation_is_the_mean_of_its_batches(tmp_path):
    accumulated = gradient(tmp_path / "accumulated", batch=4, accumulate=2)
    config, run = make_cell(tmp_path / "single", recipe={"clip_norm": None, "batch": 4}, loss=LOSS, framework=HNCLIP)
    trainer = Trainer(read_json(config), run)
    trainer.progress = Progress()
    for images in epoch_batches(trainer.data.images, 4, 0, 0)[:2]:
        trainer._backward(images, lambda ids: Step(ids, 0, 2, 0.0), 0.5)
    for name, weight in trainer.framework.named_parameters():
        torch.testing.assert_close(weight.grad, accumulated[name], rtol=1e-5, atol=1e-7)


def test_the_scale_is_clamped_after_the_step_and_keeps_its_gradient(tmp_path):
    run = trained(tmp_path, recipe={"scale_clamp": [0.0, 2.0], "epochs": 1})
    log = pd.read_parquet(run / "log.parquet")
    assert log["scale"].max() <= np.exp(2.0) + 1e-5
    grads = gradient(tmp_path / "grads", scale_clamp=[0.0, 2.0])
    assert grads["backbone.clip.logit_scale"].abs() > 0


def test_a_fixed_scale_stays(tmp_path):
    run = trained(tmp_path, loss={"base": "infonce", "boost": "none", "scale": 33.0})
    log = pd.read_parquet(run / "log.parquet")
    assert log["scale"].dropna().to_list() == pytest.approx([33.0] * int(log["scale"].notna().sum()), rel=1e-5)


def test_a_gradient_that_is_not_finite_stops_the_run_and_names_the_batch(tmp_path):
    config, run = make_cell(tmp_path, loss={"base": "infonce", "scale": 1e38, "boost": "none"})
    with pytest.raises(
        ValueError, match=r"gradient is not finite at optimiser step 0; the batch: train-\d+, train-\d+"
    ):
        train.main(config, run)
    assert not (run / "weights.safetensors").exists()


@pytest.mark.parametrize("chunk", [None, 2])
def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_batch(tmp_path, monkeypatch, chunk):
    config, run = make_cell(tmp_path, recipe={"chunk": chunk, "accumulate": 2})
    nan = lambda image_ND, text_ND, scale, ids_N, label_smoothing=0.0: (image_ND * float("nan")).sum()  # noqa: E731
    monkeypatch.setattr(Trainer, "_contrastive", lambda trainer, entry: nan)
    with pytest.raises(ValueError, match=r"loss is not finite .*step 0; the batch: (train-\d+, ){3}train-\d+\."):
        train.main(config, run)
    assert not (run / "weights.safetensors").exists()


def test_frozen_boost_needs_and_uses_the_cached_embeddings(tmp_path):
    loss = {"base": "infonce", "boost": "frozen", "gamma": 0.5}
    config, run = make_cell(tmp_path / "cell", loss=loss)
    record = read_json(config)
    rows = np.abs(np.random.default_rng(0).normal(size=(13, 8))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    table = tmp_path / "embeddings.parquet"
    pd.DataFrame({"id": [f"train-{i}" for i in range(13)], "text": list(rows)}).to_parquet(table)
    record["data"]["train"]["embeddings"] = str(table)
    Trainer(record, run).run()
    plain = trained(tmp_path / "plain")
    assert not same(weights(run), weights(plain))


def test_results_name_what_they_were_made_with(tmp_path):
    run = trained(tmp_path, captions_an_image=3)
    record = read_json(run / "run.json")
    assert record["pairs"] == 2 * 13 and record["threads"] == 1 and record["config"]["recipe"]["batch"] == 4
    ranks = pd.read_parquet(run / "ranks.parquet")
    assert set(ranks["target"]) == {"world/test"}
    assert (
        ranks.groupby(["target", "direction"]).size() == ranks.groupby(["target", "direction"])["gallery"].first()
    ).all()
    log = pd.read_parquet(run / "log.parquet")
    scores = log[log["kind"] == "eval"]
    assert scores[["epoch", "target"]].values.tolist() == [
        [e, f"world/{s}"] for e in (0, 1) for s in ("validation", "test")
    ]
    last = ranks[ranks["direction"] == "t2i"]["rank"].lt(1).mean()
    assert scores["t2i_r1"].iloc[-1] == last and scores["queries"].iloc[-1] == 7


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU takes fp16")
def test_fp16_is_refused_where_no_gpu_is(tmp_path):
    config, run = make_cell(tmp_path, recipe={"precision": "16-mixed"})
    with pytest.raises(ValueError, match="16-mixed needs a GPU"):
        train.main(config, run)


def test_bf16_keeps_fp32_masters(tmp_path):
    run = trained(tmp_path, recipe={"precision": "bf16-mixed", "epochs": 1})
    assert {tensor.dtype for tensor in weights(run).values()} == {torch.float32}


def test_without_a_validation_split_nothing_is_watched(tmp_path):
    config, run = make_cell(tmp_path)
    record = read_json(config)
    record["data"]["validation"] = None
    Trainer(record, run).run()
    log = pd.read_parquet(run / "log.parquet")
    assert set(log.loc[log["kind"] == "eval", "target"]) == {"world/test"}
    assert same(weights(run), weights(trained(tmp_path / "watched")))


def test_a_cell_that_tries_a_setting_trains_alike_and_sees_no_test_split(tmp_path):
    config, run = make_cell(tmp_path)
    record = read_json(config)
    record["data"]["test"] = []
    Trainer(record, run).run()
    log = pd.read_parquet(run / "log.parquet")
    assert set(log.loc[log["kind"] == "eval", "target"]) == {"world/validation"}
    assert len(pd.read_parquet(run / "ranks.parquet")) == 0
    assert same(weights(run), weights(trained(tmp_path / "tested")))


def test_a_filter_leaves_out_images_without_a_region_in_every_framework(tmp_path):
    images = {}
    for kind in ("longclip", "goal"):
        recipe = {"train_filter": "local_pairs"}
        config, run = make_cell(tmp_path / kind, framework=entry_of(kind), recipe=recipe, fraction=50)
        record = read_json(config)
        if kind == "longclip":
            make_inputs(record["data"]["train"], entry_of("goal"))
        path = Path(record["data"]["train"]["segments"])
        regions = read_segments(path)
        write_segments(path, regions[~regions["id"].isin(["train-2", "train-5", "train-7"])])
        if kind == "goal":  # made from the regions
            make_crops(record["data"]["train"])
        trainer = Trainer(record, run)
        images[kind] = [trainer.data.split.image_ids[image] for image in trainer.data.images]
    kept = [name for name in trainer.data.split.image_ids if name not in ("train-2", "train-5", "train-7")]
    assert images["longclip"] == images["goal"] == [kept[index] for index in subset(kept, 50, 0)]


def test_a_step_knows_its_captions_its_epoch_of_how_many_and_the_share_of_it_that_is_done(tmp_path, monkeypatch):
    config, run = make_cell(tmp_path, recipe={"epochs": 3, "batch": 4}, pairs=12)
    trainer = Trainer(read_json(config), run)
    steps, losses = [], trainer.framework.losses
    monkeypatch.setattr(trainer.framework, "losses", lambda z, step, term: steps.append(step) or losses(z, step, term))
    trainer.run()
    assert [(step.epoch, step.epochs) for step in steps] == [(epoch, 3) for epoch in (0, 1, 2) for _ in range(3)]
    assert [step.share for step in steps] == pytest.approx([0, 1 / 3, 2 / 3] * 3)
    assert sorted(torch.cat([step.ids_N for step in steps[:3]]).tolist()) == list(range(12))


def test_what_a_framework_warns_of_is_in_the_record(tmp_path):
    entry = entry_of("longclip_pcm", components=31)
    with pytest.warns(UserWarning, match="31 principal components keep all"):
        run = trained(tmp_path, framework=entry, recipe={"epochs": 1})
    assert any(
        text.startswith("31 principal components keep all of 4 rows")
        for text in read_json(run / "run.json")["warnings"]
    )
