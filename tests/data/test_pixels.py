"""The pixels of a split: each image once, in order, or a message that names every image at fault."""

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from world import TRANSFORM, make_split, manifest_row

from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import write_manifest
from hnclip.data.pixels import main, open_pixels, write_pixels

PLAIN = {"size": 8, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}


def noise(width=12, height=9, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def manifest(folder, *files):
    rows = []
    for name in files:
        path = folder / name
        data = path.read_bytes() if path.exists() else b""
        rows.append(manifest_row(name, name, "A cat.", "test", sha256=hashlib.sha256(data).hexdigest()))
    write_manifest(folder / "test.parquet", rows)
    return folder / "test.parquet"


def test_the_cache_holds_each_image_once_in_order(tmp_path):
    for index in range(3):
        noise(20 + index, 12, index).save(tmp_path / f"ü {index}.png")
    path = manifest(tmp_path, "ü 2.png", "ü 2.png", "ü 0.png", "ü 1.png")
    write_pixels(path, PLAIN, tmp_path / "out" / "test.npy")
    pixels = open_pixels(tmp_path / "out" / "test.npy")
    assert isinstance(pixels, np.memmap) and pixels.shape == (3, 8, 8, 3)
    for row, index in zip(pixels, (2, 0, 1), strict=True):
        assert np.array_equal(row, transform_image(noise(20 + index, 12, index), Transform(**PLAIN)))
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["test.npy"]


def test_all_bad_images_are_named_and_nothing_is_written(tmp_path):
    noise().save(tmp_path / "good.png")
    buffer = io.BytesIO()
    noise(64, 64).save(buffer, "JPEG")
    (tmp_path / "half.jpg").write_bytes(buffer.getvalue()[: buffer.tell() // 2])
    buffer = io.BytesIO()
    noise(64, 64).save(buffer, "PNG")
    (tmp_path / "half.png").write_bytes(buffer.getvalue()[: buffer.tell() // 2])
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("no picture")
    noise(9, 9).save(tmp_path / "changed.png")
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "float.tif")
    names = ["half.jpg", "half.png", "empty.png", "text.png", "missing.png", "float.tif", "changed.png"]
    path = manifest(tmp_path, "good.png", *names)
    noise(9, 9, seed=1).save(tmp_path / "changed.png")
    with pytest.raises(ValueError) as caught:
        write_pixels(path, PLAIN, tmp_path / "out.npy")
    message = str(caught.value)
    assert message.startswith("7 of the 8 images") and "repair or remove" in message and "good.png" not in message
    assert all(f"{tmp_path / name}: " in message for name in names)
    assert "empty.png: the file is empty" in message and "missing.png: no such image" in message
    assert "changed since the manifest" in message and "32-bit grey" in message
    assert not list(tmp_path.glob("*.npy")) and not list(tmp_path.glob(".*part"))


def test_wrong_transforms_and_files_are_refused(tmp_path):
    noise().save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="'resize': expected 'shortest' or 'squash', got 'crop'"):
        write_pixels(manifest(tmp_path, "a.png"), {**PLAIN, "resize": "crop"}, tmp_path / "out.npy")
    with pytest.raises(FileNotFoundError, match="no pixel cache"):
        open_pixels(tmp_path / "none.npy")
    np.save(tmp_path / "other.npy", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="is no pixel cache: float64"):
        open_pixels(tmp_path / "other.npy")


def test_the_command_writes_the_same_file(tmp_path):
    record = make_split(tmp_path, "test", 3)
    (tmp_path / "transform.json").write_text(json.dumps(TRANSFORM))
    command = [sys.executable, "-m", "hnclip.data.pixels", record["manifest"], tmp_path / "transform.json"]
    subprocess.run([*command, tmp_path / "out.npy"], check=True)
    assert (tmp_path / "out.npy").read_bytes() == Path(record["pixels"]).read_bytes()


@pytest.mark.parametrize("content", [b"", b"\x93NUM", b"junk" * 50, b"PK\x03\x04" + b"junk" * 50, "cut header", "cut"])
def test_a_damaged_cache_says_so_and_the_way_out(tmp_path, content):
    path = tmp_path / "test.npy"
    np.save(path, np.zeros((2, 8, 8, 3), np.uint8))
    whole = path.read_bytes()
    path.write_bytes({"cut header": whole[:70], "cut": whole[:-1]}.get(content, content))
    with pytest.raises(ValueError, match=r"test\.npy is damaged \(.+\); delete it and run again") as caught:
        open_pixels(path)
    assert "unsafe" not in str(caught.value)


@pytest.mark.parametrize("given", [[], ["only one.parquet"]])
def test_the_command_tells_its_usage(given, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pixels", *given])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m hnclip.data.pixels [-h] [--threads THREADS]")
