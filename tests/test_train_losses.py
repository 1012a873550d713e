"""Cells of every base: they train, and those that draw or look captions up do so as they should."""

import pandas as pd
import pytest
import torch
from trained_cells import killed_on_the_way, same, weights
from world import make_cell

from hnclip import train
from hnclip.losses.entry import LossEntry
from hnclip.losses.objective import Tables
from hnclip.store import read_json
from hnclip.train import Trainer

ENTRIES = {
    "reweighted": {"base": "reweighted", "beta": 0.25},
    "hardest": {"base": "hardest", "hinge": 0.2, "boost": "captions", "gamma": 0.5},
    "sigmoid": {"base": "sigmoid", "threshold": 0.3, "scale": 33.0},
    "soft": {"base": "soft", "mix": 0.2, "sharpness": 10.0, "mask_duplicates": True},
    "shuffled": {"boost": "shuffled", "gamma": 0.5},
    "smoothing": {"label_smoothing": 0.1},
}
PLAIN = {"base": "infonce", "boost": "none"}


def trained(folder, loss, **recipe):
    config, run = make_cell(folder, loss=PLAIN | loss, recipe=recipe)
    train.main(config, run)
    return run


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("plain"), {})


@pytest.mark.parametrize("name", ENTRIES)
def test_every_loss_trains_to_weights_of_its_own(tmp_path, plain, name):
    run = trained(tmp_path, ENTRIES[name])
    assert all(torch.isfinite(value).all() for value in weights(run).values())
    assert not same(run, plain)


def test_the_hinge_leaves_the_scale_as_it_was(tmp_path, plain):
    steady = trained(tmp_path, ENTRIES["hardest"])
    scales = [pd.read_parquet(run / "log.parquet")["scale"].dropna().nunique() for run in (steady, plain)]
    assert scales[0] == 1 and scales[1] > 1


def test_a_killed_run_that_draws_resumes_bit_identically(tmp_path):
    entry, recipe = ENTRIES["shuffled"], {"accumulate": 2, "checkpoint_every": 1}
    straight = trained(tmp_path / "straight", entry, **recipe)
    run = killed_on_the_way(tmp_path / "killed", 3, loss=PLAIN | entry, recipe=recipe)
    assert same(straight, run)


def cell_with_captions(folder, words):
    """A trainer whose training captions are these words, one caption an image; tokens stay as they were."""
    config, run = make_cell(folder, loss=PLAIN | {"mask_duplicates": True}, pairs=len(words))
    manifest = read_json(config)["data"]["train"]["manifest"]
    frame = pd.read_parquet(manifest)
    frame["caption"] = words
    frame.to_parquet(manifest)
    return Trainer(read_json(config), run)


def test_captions_of_the_very_same_words_are_of_one_class(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(train, "contrastive", lambda entry, generator, tables, tile: given.append(tables))
    trainer = cell_with_captions(tmp_path, ["a cup", "a hat", "a cup", "A cup", "a hat"])
    assert given[0].text_class_M.tolist() == [0, 1, 0, 2, 1] and given[0].frozen_MD is None
    trainer._contrastive(LossEntry())
    assert given[1] == Tables()


def test_a_mask_changes_the_run_where_captions_repeat_and_only_there(tmp_path, plain):
    assert same(trained(tmp_path / "all differ", {"mask_duplicates": True}), plain)
    trainer = cell_with_captions(tmp_path / "repeated", ["a cup"] * 13)
    trainer.run()
    assert not same(tmp_path / "repeated" / "run", plain)
