"""The trainer: exact large batches, steps that are stopped where they cannot go on, honest records."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from trained_cells import same, trained, weights
from world import entry_of, make_cell, make_crops, make_inputs

from hnclip import train
from hnclip.checkpoint import Progress
from hnclip.data.derive.segment_table import read_segments, write_segments
from hnclip.data.sample import epoch_batches, subset
from hnclip.frameworks import names
from hnclip.frameworks.base import Step
from hnclip.store import read_json
from hnclip.train import Trainer


def slow_unless(kept: tuple[str, ...]) -> list:
    return [kind if kind in kept else pytest.param(kind, marks=pytest.mark.slow) for kind in names()]


@pytest.mark.parametrize("kind", slow_unless(("longclip", "lora")))
def test_two_epochs_lower_the_frameworks_own_loss(tmp_path, kind):
    run = trained(tmp_path, framework=entry_of(kind), recipe={"epochs": 6})
    log = pd.read_parquet(run / "log.parquet")
    by_epoch = log[log["kind"] == "train"].groupby("epoch")["loss"].mean()
    assert by_epoch.iloc[-1] < by_epoch.iloc[0]


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
    assert not same(run, plain)


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
    assert same(run, trained(tmp_path / "watched"))


def test_a_cell_that_tries_a_setting_trains_alike_and_sees_no_test_split(tmp_path):
    config, run = make_cell(tmp_path)
    record = read_json(config)
    record["data"]["test"] = []
    Trainer(record, run).run()
    log = pd.read_parquet(run / "log.parquet")
    assert set(log.loc[log["kind"] == "eval", "target"]) == {"world/validation"}
    assert len(pd.read_parquet(run / "ranks.parquet")) == 0
    assert same(run, trained(tmp_path / "tested"))


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
