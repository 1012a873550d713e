"""A trained cell's embeddings are those that its ranks were made from."""

import numpy as np
import pandas as pd
import pytest
import torch
from pyarrow import parquet
from world import make_cell

from hnclip import embed_run, train
from hnclip.data.split import open_split
from hnclip.models.checkpoints import load_backbone
from hnclip.ranks import retrieval
from hnclip.store import read_json, write_json


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """A cell's config, run and embeddings of its training and test split."""
    folder = tmp_path_factory.mktemp("embedded")
    config, run = make_cell(folder, recipe={"epochs": 1}, captions_an_image=2)
    train.main(config, run)
    data = read_json(config)["data"]
    write_json(folder / "target.json", {"splits": [data["train"], *data["test"]]})
    embed_run.main(run, folder / "target.json", folder / "e.parquet")
    return data, run, folder / "e.parquet"


def test_one_row_a_caption_of_every_split(embedded):
    data, _, path = embedded
    rows = pd.read_parquet(path)
    assert list(rows.columns) == ["split", "id", "image", "text"]
    assert rows.groupby("split", sort=False).size().to_dict() == {"world/train": 26, "world/test": 7}
    assert rows["id"][:4].to_list() == ["train-0", "train-0", "train-1", "train-1"]
    image = np.stack(rows["image"].to_numpy())
    assert (image[0] == image[1]).all() and (image[1] != image[2]).any()
    for column in ("image", "text"):
        assert np.abs(np.linalg.norm(np.stack(rows[column].to_numpy()), axis=1) - 1).max() < 1e-5


def test_the_ranks_follow_from_them(embedded):
    data, run, path = embedded
    rows = pd.read_parquet(path)
    rows = rows[rows["split"] == "world/test"]
    image, text = (torch.from_numpy(np.stack(rows[column].to_numpy())) for column in ("image", "text"))
    again = retrieval(open_split(data["test"][0]), image, text)
    pd.testing.assert_frame_equal(again, pd.read_parquet(run / "ranks.parquet"))


def test_the_scale_stands_in_the_metadata(embedded):
    _, run, path = embedded
    scale = float(parquet.read_schema(path).metadata[b"scale"])
    assert scale == load_backbone(run / "weights.safetensors").scale().item()


def test_no_splits_are_refused(embedded, tmp_path):
    _, run, _ = embedded
    write_json(tmp_path / "target.json", {"splits": []})
    with pytest.raises(ValueError, match="names no splits"):
        embed_run.main(run, tmp_path / "target.json", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
