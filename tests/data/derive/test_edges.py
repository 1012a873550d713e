"""Edge maps: lines where the grey value steps, black elsewhere, brought to the input like any picture."""

import subprocess
import sys

import cv2
import numpy as np
import pytest
from PIL import Image
from regions_world import make_scenes, replace_image, turned
from world import SIZE, TRANSFORM

from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.edges import write
from hnclip.data.derive.entries import EdgesEntry
from hnclip.data.images import Transform, transform_image
from hnclip.data.pixels import open_pixels
from hnclip.options import from_dict
from hnclip.store import read_json, write_json

CANNY = {"kind": "canny", "low": 100, "high": 200}
LOG = {"kind": "log", "sigma": 2.0, "threshold": 25}


def edge_map(image, entry):
    return np.asarray(detector(from_dict(EdgesEntry, entry, "edges"))(image))


def step(height, width=40):
    """Dark on the left, brighter by `height` on the right, from column 20 on."""
    grey = np.full((30, width), 100, np.uint8)
    grey[:, 20:] += height
    return Image.fromarray(grey).convert("RGB")


@pytest.mark.parametrize("entry", [CANNY, LOG])
def test_a_step_becomes_one_thin_white_line(entry):
    found = edge_map(step(80), entry)
    assert found.dtype == np.uint8 and set(np.unique(found)) == {0, 255}
    assert np.array_equal(np.flatnonzero(found.any(0)), np.flatnonzero(found.all(0)))
    assert len(np.flatnonzero(found.any(0))) == 1 and np.flatnonzero(found.any(0))[0] in (19, 20)


@pytest.mark.parametrize("sigma", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("side", ["columns", "rows"])
def test_the_threshold_of_log_is_the_height_of_the_weakest_step(sigma, side):
    turn = (lambda image: image) if side == "columns" else (lambda image: image.transpose(Image.Transpose.TRANSPOSE))
    assert not edge_map(turn(step(18)), {**LOG, "sigma": sigma, "threshold": 20}).any()
    assert edge_map(turn(step(23)), {**LOG, "sigma": sigma, "threshold": 20}).any()


def test_a_slanted_step_is_measured_like_a_straight_one():
    rows, columns = np.mgrid[:60, :60]
    for height, seen in ((17, False), (26, True)):
        grey = np.where(rows + columns < 60, 100, 100 + height).astype(np.uint8)
        found = edge_map(Image.fromarray(grey).convert("RGB"), {**LOG, "threshold": 20})
        assert found[10:50, 10:50].any() == seen


def test_flat_pictures_have_no_edges():
    for entry in (CANNY, {**LOG, "threshold": 0}):
        assert not edge_map(Image.new("RGB", (20, 9), (30, 90, 200)), entry).any()


def test_canny_is_opencvs_on_the_grey_picture():
    pixels = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8), (0, 0), 2)
    image = Image.fromarray(pixels)
    low, high = edge_map(image, {**CANNY, "low": 20, "high": 60}), edge_map(image, {**CANNY, "low": 60, "high": 60})
    assert np.array_equal(low, cv2.Canny(np.asarray(image.convert("L")), 20, 60)) and low.sum() > high.sum() > 0


def test_the_maps_are_found_at_full_resolution_and_blank_ones_are_counted(tmp_path):
    manifest = make_scenes(tmp_path, 3)
    replace_image(manifest, "s1", Image.new("RGB", (30, 20), "blue"))
    write(manifest, CANNY, TRANSFORM, tmp_path / "edges.npy", tmp_path / "edges.json")
    found = open_pixels(tmp_path / "edges.npy")
    assert found.shape == (3, SIZE, SIZE, 1)
    for index in range(3):
        with Image.open(tmp_path / "images" / f"s {index}.png") as image:
            whole = Image.fromarray(edge_map(image.convert("RGB"), CANNY))
        assert np.array_equal(found[index], transform_image(whole, Transform(**TRANSFORM)))
    assert [bool(row.any()) for row in found] == [True, False, True]
    record = read_json(tmp_path / "edges.json")
    assert record.pop("seconds") > 0 and record == {"images": 3, "blank": 1}


def test_grey_pictures_are_transformed_as_each_channel_of_coloured_ones():
    grey = Image.fromarray(np.random.default_rng(1).integers(0, 256, (33, 20), dtype=np.uint8))
    found = transform_image(grey, Transform(8))
    assert found.shape == (8, 8, 1) and np.array_equal(
        np.repeat(found, 3, 2), transform_image(grey.convert("RGB"), Transform(8))
    )


def test_exif_turns_the_map_like_the_picture(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    replace_image(manifest, "s1", step(80, 30), exif=turned())
    applied = {**TRANSFORM, "exif": "apply"}
    for transform in (TRANSFORM, applied):
        write(manifest, CANNY, transform, tmp_path / "edges.npy", tmp_path / "edges.json")
        lines = open_pixels(tmp_path / "edges.npy")[1, ..., 0] > 60
        assert lines.any(0).all() == (transform is applied) and lines.any(1).all() == (transform is not applied)


def test_the_command_names_bad_images_and_writes_nothing(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    (tmp_path / "images" / "s 1.png").unlink()
    write_json(tmp_path / "e.json", CANNY)
    write_json(tmp_path / "t.json", TRANSFORM)
    command = [sys.executable, "-m", "hnclip.data.derive.edges", manifest, tmp_path / "e.json", tmp_path / "t.json"]
    done = subprocess.run([*command, tmp_path / "o.npy", tmp_path / "o.json"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("error: 1 of the 2 images") and "s 1.png" in done.stderr
    assert not list(tmp_path.glob("o.*"))
