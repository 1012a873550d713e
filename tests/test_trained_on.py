"""Scores on images that a run was trained on are told as such."""

import pandas as pd
import pytest
from world import manifest_row

from hnclip.data.manifest import write_manifest
from hnclip.evaluate_captions import _trained
from hnclip.new_study.text import Wanted, updates
from hnclip.store import write_json

RUN = "results/own/runs/tiny/own/longclip/hn/f100/s1"
MANIFEST = "results/data/own/train.parquet"


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / RUN
    folder.mkdir(parents=True)
    write_json(folder / "run.json", {"config": {"data": {"train": {"manifest": MANIFEST}}}})
    (folder / "weights.safetensors").write_bytes(b"")
    rows = [manifest_row(name, f"{name}.png", "a caption", "train", sha256=name * 64) for name in "ab"]
    write_manifest(tmp_path / MANIFEST, rows)
    return folder


def frame(names: str) -> pd.DataFrame:
    return pd.DataFrame({"id": list(names), "sha256": [name * 64 for name in names]})


def test_images_of_the_training_split_are_counted_by_their_bytes(run, monkeypatch):
    assert _trained(str(run), frame("bcbc")) == 1
    assert _trained(str(run), frame("cd")) == 0
    monkeypatch.chdir(run.parents[2])
    assert _trained("hn/f100/s1", frame("ab")) == 2


def test_what_nothing_tells_is_not_counted(run):
    assert _trained("tiny", frame("a")) is None
    (run.parents[8] / MANIFEST).unlink()
    assert _trained(str(run), frame("a")) is None


@pytest.mark.parametrize("images, expected", [(9647, 760), (419, 40), (1, 10)])
def test_steps_of_a_pretrained_recipe_are_counted(images, expected):
    wanted = Wanted("own", "own", {}, "ViT-B-16", {"kind": "open_clip"}, ["longclip"], ["hn"], [1])
    assert updates(wanted, images) == expected
