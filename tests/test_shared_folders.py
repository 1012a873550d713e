"""Cells share what was made before them: no command that trains or evaluates writes there."""

from pathlib import Path

import numpy as np
import pytest
from world import BACKBONE, entry_of, make_cell

from hnclip import embed, embed_run, evaluate, train
from hnclip.data.pixels import open_pixels
from hnclip.store import read_json, write_json


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder with its size and time; a folder's time tells what was made in it and removed again."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in [folder, *folder.rglob("*")]}


def test_training_and_evaluating_leave_shared_folders_as_they_are(tmp_path):
    config, run = make_cell(tmp_path, framework=entry_of("goal"), recipe={"epochs": 1})
    data = tmp_path / "data"
    write_json(tmp_path / "target.json", {"test": read_json(config)["data"]["test"]})
    write_json(tmp_path / "splits.json", {"splits": read_json(config)["data"]["test"]})
    write_json(tmp_path / "backbone.json", BACKBONE)
    before = state(data)
    train.main(config, run)
    evaluate.main(run, tmp_path / "target.json", tmp_path / "out.parquet")
    embed_run.main(run, tmp_path / "splits.json", tmp_path / "embeddings.parquet")
    split = read_json(config)["data"]["test"][0]
    paths = [Path(split[key]) for key in ("manifest", "pixels", "tokens")]
    embed.main(tmp_path / "backbone.json", *paths, tmp_path / "e.parquet", tmp_path / "r.parquet")
    assert state(data) == before
    (data / "made").touch()
    assert state(data) != before


def test_a_pixel_cache_is_mapped_read_only(tmp_path):
    config, _ = make_cell(tmp_path)
    pixels = open_pixels(Path(read_json(config)["data"]["train"]["pixels"]))
    assert isinstance(pixels, np.memmap) and pixels.mode == "r"
    with pytest.raises(ValueError, match="read-only"):
        pixels[0] = 0
