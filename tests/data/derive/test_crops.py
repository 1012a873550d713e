"""Crops of pictures and of edge maps: the right pixels in the right rows, and what the records count."""

import subprocess
import sys

import numpy as np
import pandas
import pytest
from PIL import Image
from regions_world import PIXELS, change, make_scenes, replace_image, segmented, turned
from world import SIZE, TRANSFORM

from hnclip.data.derive import crops, edge_crops
from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.entries import EdgesEntry
from hnclip.data.derive.segment_table import best, read_segments, write_segments
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import read_manifest
from hnclip.data.pixels import open_pixels
from hnclip.options import from_dict
from hnclip.store import read_json, write_json

EDGES = {"kind": "canny", "low": 20, "high": 40}


def expected(manifest, regions, draw):
    """The crops one after the other, each from a picture opened anew."""
    frame = read_manifest(manifest)
    rows = []
    for region in regions.to_dict("records"):
        image = Image.open(manifest.parent / frame["image"][region["caption"]]).convert("RGB")
        crop = draw(image).crop([region[side] for side in ("left", "top", "right", "bottom")])
        rows.append(transform_image(crop, Transform(**TRANSFORM)))
    return np.stack(rows)


@pytest.fixture
def split(tmp_path):
    """Four pictures with two captions each; the third has no regions, the second caption of the first only one."""
    manifest = make_scenes(tmp_path, 4, captions=2)

    def edit(rows):
        rows[1]["boxes"][2:] = [None, None]
        rows[4]["boxes"] = rows[5]["boxes"] = [None] * 4

    change(manifest, edit)
    return manifest, segmented(manifest)


def test_the_best_region_of_each_caption_is_cut_out(split, tmp_path):
    manifest, segments = split
    crops.write(manifest, segments, TRANSFORM, tmp_path / "crops.npy", tmp_path / "crops.json")
    regions = best(read_segments(segments), 1)
    assert regions["caption"].tolist() == [0, 1, 2, 3, 6, 7]
    assert np.array_equal(open_pixels(tmp_path / "crops.npy"), expected(manifest, regions, lambda image: image))
    record = read_json(tmp_path / "crops.json")
    assert record.pop("seconds") > 0
    assert record == {"captions": 8, "crops": 6, "captions_without_region": 2, "outside_input": 0}


def test_the_first_k_regions_are_cut_from_the_edge_map_of_the_whole_picture(split, tmp_path):
    manifest, segments = split
    edge_crops.write(manifest, segments, EDGES, TRANSFORM, 2, tmp_path / "e.npy", tmp_path / "e.json")
    regions = best(read_segments(segments), 2)
    assert regions["caption"].tolist() == [0, 0, 1, 2, 2, 3, 3, 6, 6, 7, 7]
    found = open_pixels(tmp_path / "e.npy")
    assert found.shape == (11, SIZE, SIZE, 1)
    assert np.array_equal(found, expected(manifest, regions, detector(from_dict(EdgesEntry, EDGES, "edges"))))
    record = read_json(tmp_path / "e.json")
    assert record["crops"] == 11 and record["captions_without_region"] == 2
    assert record["blank"] == sum(not row.any() for row in found) < 11


def test_regions_that_the_centre_crop_leaves_out_are_counted(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    replace_image(manifest, "s0", Image.new("RGB", (3 * PIXELS, PIXELS), "blue"))
    boxes = [None, [0, 0, PIXELS, 9], [PIXELS, 0, PIXELS + 9, 9], None]
    change(manifest, lambda rows: rows[0].update(boxes=boxes))
    segments = segmented(manifest)
    edge_crops.write(manifest, segments, EDGES, TRANSFORM, 3, tmp_path / "e.npy", tmp_path / "e.json")
    record = read_json(tmp_path / "e.json")
    assert (record["outside_input"], record["crops"]) == (1, 5) and record["blank"] >= 2


def test_a_split_without_regions_has_no_crops(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    write_segments(tmp_path / "s.parquet", [])
    crops.write(manifest, tmp_path / "s.parquet", TRANSFORM, tmp_path / "c.npy", tmp_path / "c.json")
    assert open_pixels(tmp_path / "c.npy").shape == (0, SIZE, SIZE, 3)
    assert read_json(tmp_path / "c.json")["captions_without_region"] == 2


def test_the_regions_of_another_manifest_are_refused(split, tmp_path):
    manifest, segments = split
    frame = read_segments(segments)
    write_segments(segments, pandas.concat([frame, frame.tail(1).assign(caption=8)]))
    with pytest.raises(ValueError, match=r"segments\.parquet belongs to another manifest.*no such caption"):
        crops.write(manifest, segments, TRANSFORM, tmp_path / "c.npy", tmp_path / "c.json")


@pytest.mark.parametrize("kind", ["crops", "edge_crops"])
def test_turned_and_missing_images_are_named_and_nothing_is_written(split, tmp_path, kind):
    manifest, segments = split
    replace_image(manifest, "s0", Image.open(tmp_path / "images" / "s 0.png").copy(), exif=turned())
    (tmp_path / "images" / "s 3.png").unlink()
    (tmp_path / "images" / "s 2.png").unlink()  # has no regions and is not looked at
    applied, out = {**TRANSFORM, "exif": "apply"}, (tmp_path / "c.npy", tmp_path / "c.json")
    with pytest.raises(ValueError, match="2 of the 3 images") as caught:
        if kind == "crops":
            crops.write(manifest, segments, applied, *out)
        else:
            edge_crops.write(manifest, segments, EDGES, applied, 2, *out)
    assert "s 0.png: EXIF rotation 6" in str(caught.value) and "s 3.png: no such" in str(caught.value)
    assert not list(tmp_path.glob("c.*"))


@pytest.mark.slow
def test_the_commands_write_the_same_files(split, tmp_path):
    manifest, segments = split
    crops.write(manifest, segments, TRANSFORM, tmp_path / "crops.npy", tmp_path / "crops.json")
    edge_crops.write(manifest, segments, EDGES, TRANSFORM, 2, tmp_path / "edge_crops.npy", tmp_path / "e.json")
    write_json(tmp_path / "edges.json", EDGES)
    write_json(tmp_path / "t.json", TRANSFORM)
    for kind, extra in (("crops", []), ("edge_crops", [tmp_path / "edges.json"])):
        command = [sys.executable, "-m", f"hnclip.data.derive.{kind}", manifest, segments, *extra, tmp_path / "t.json"]
        command += ["2"] if extra else []
        subprocess.run([*command, tmp_path / "out.npy", tmp_path / "out.json"], check=True)
        assert (tmp_path / "out.npy").read_bytes() == (tmp_path / f"{kind}.npy").read_bytes()
    with pytest.raises(ValueError, match="at least 1, got 0"):
        edge_crops.write(manifest, segments, EDGES, TRANSFORM, 0, tmp_path / "o.npy", tmp_path / "o.json")
