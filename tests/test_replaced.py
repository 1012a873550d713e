"""Images that were replaced after a study's data was prepared are told, and prepared anew when asked for."""

import os
import time
from pathlib import Path

import pytest
from PIL import Image

from hnclip import replaced
from hnclip.data.prepare import prepare
from hnclip.store import sha256_of

CONFIG = {
    "study": "own",
    "run": ["all"],
    "grids": {"all": {"backbones": [], "train": ["own"], "frameworks": [], "losses": [], "transfer": []}},
    "benchmarks": {"own": {"kind": "folder", "options": {}, "train": "train", "validation": None, "test": ["test"]}},
}


def draw(path: Path, colour: int) -> None:
    Image.new("RGB", (8, 8), (colour, 0, 0)).save(path)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """The folder of a study on twelve images, prepared."""
    monkeypatch.setattr(replaced, "narrow", lambda config: config)
    (tmp_path / "photos").mkdir()
    rows = ["image,caption,split"]
    for number in range(12):
        draw(tmp_path / "photos" / f"{number}.png", number)
        rows.append(f"{number}.png,A square of colour number {number},{('train', 'test')[number % 2]}")
    (tmp_path / "captions.csv").write_text("\n".join(rows) + "\n")
    options = {"captions": str(tmp_path / "captions.csv"), "images": str(tmp_path / "photos")}
    options["split_column"] = "split"
    time.sleep(0.02)  # the clock of the file system ticks
    prepare({"name": "own", "kind": "folder", "options": options}, tmp_path / "results" / "data" / "own")
    time.sleep(0.02)
    return tmp_path


def told(home: Path) -> list[str]:
    """The images that a refusal names; none where nothing is refused."""
    try:
        replaced.refuse(CONFIG, home, "hnclip run own --data")
    except ValueError as error:
        assert "`hnclip run own --data` checks all images" in str(error)
        return sorted(Path(line.strip()).name for line in str(error).splitlines() if line.endswith(".png"))
    return []


def test_every_replaced_image_is_named(home):
    assert told(home) == []
    draw(home / "photos" / "3.png", 200)
    draw(home / "photos" / "4.png", 201)
    assert told(home) == ["3.png", "4.png"]
    draw(home / "photos" / "3.png", 3)
    assert told(home) == ["4.png"]


def test_an_older_file_moved_to_an_images_place_is_noticed(home):
    draw(home / "other.png", 200)
    os.utime(home / "other.png", (0, 0))
    os.replace(home / "other.png", home / "photos" / "3.png")
    assert told(home) == ["3.png"]


def test_images_that_were_only_touched_are_read_once(home, monkeypatch):
    for path in (home / "photos").iterdir():
        path.touch()
    read = []
    monkeypatch.setattr(replaced, "sha256_of", lambda path: read.append(path) or sha256_of(path))
    time.sleep(0.02)
    assert told(home) == [] and len(read) == 12
    assert told(home) == [] and len(read) == 12
    time.sleep(0.02)
    draw(home / "photos" / "3.png", 200)
    assert told(home) == ["3.png"]


def test_an_image_that_is_gone_is_left_to_the_job_that_decodes_it(home):
    (home / "photos" / "3.png").unlink()
    assert told(home) == []


def test_images_of_hnclips_own_are_not_looked_at(home):
    draw(home / "photos" / "4.png", 200)
    manifests = [home / path for path in replaced.manifests(CONFIG)["own"]]
    assert [Path(path).name for path in replaced.changed_images(manifests, home / "results")] == ["4.png"]
    assert replaced.changed_images(manifests, home) == []


def test_the_manifests_of_replaced_images_are_forgotten_and_no_others(home):
    data = home / "results" / "data" / "own"
    assert replaced.forget(CONFIG, home) == [] and len(list(data.glob("*.parquet"))) == 2
    draw(home / "photos" / "3.png", 200)
    assert replaced.forget(CONFIG, home) == ["own"] and not list(data.glob("*.parquet"))
    assert told(home) == []
