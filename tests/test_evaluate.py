"""Cached embeddings, zero-shot ranks and a trained cell on another benchmark agree with each other."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from world import BACKBONE, make_cell, make_split

from hnclip import embed, evaluate, train
from hnclip.data.split import open_split
from hnclip.encode import encode_split
from hnclip.models.load import backbone_from
from hnclip.ranks import retrieval
from hnclip.store import read_json, write_json


def test_embeddings_and_zero_shot_ranks(tmp_path):
    record = make_split(tmp_path / "world", "test", 7, captions_an_image=2)
    write_json(tmp_path / "backbone.json", BACKBONE)
    paths = [tmp_path / "backbone.json", *(Path(record[key]) for key in ("manifest", "pixels", "tokens"))]
    embed.main(*paths, tmp_path / "e.parquet", tmp_path / "r.parquet")
    rows = pd.read_parquet(tmp_path / "e.parquet")
    image, text = (np.stack(rows[column].to_numpy()) for column in ("image", "text"))
    assert rows["id"].to_list() == [f"test-{number}" for number in range(7) for _ in range(2)]
    assert (
        np.abs(np.linalg.norm(image, axis=1) - 1).max() < 1e-5 and np.abs(np.linalg.norm(text, axis=1) - 1).max() < 1e-5
    )
    again = retrieval(open_split(record), torch.from_numpy(image[::2]), torch.from_numpy(text))
    saved = pd.read_parquet(tmp_path / "r.parquet")
    pd.testing.assert_frame_equal(saved, again)
    assert set(saved["target"]) == {"world/test"}


def test_features_and_ranks_do_not_depend_on_the_batch(tmp_path):
    split = open_split(make_split(tmp_path / "world", "test", 16))
    backbone = backbone_from(BACKBONE).eval()
    one, all_at_once = (encode_split(backbone, split, batch) for batch in (1, 16))
    for a, b in zip(one, all_at_once, strict=True):
        assert (a - b).abs().max() < 1e-5
    pd.testing.assert_frame_equal(retrieval(split, *one), retrieval(split, *all_at_once))


def test_a_cell_on_another_benchmark(tmp_path):
    config, run = make_cell(tmp_path, recipe={"epochs": 1})
    train.main(config, run)
    own = {"test": read_json(config)["data"]["test"]}
    write_json(tmp_path / "target.json", own)
    evaluate.main(run, tmp_path / "target.json", tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), pd.read_parquet(run / "ranks.parquet"))
