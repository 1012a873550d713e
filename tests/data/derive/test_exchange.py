"""The nested JSON: written and read back it is the same table; others' files are read and every fault is named."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from regions_world import change, entry, make_scenes, scored, segmented

from hnclip.data.derive.exchange import write_exchange
from hnclip.data.derive.exchange_reading import read_exchange
from hnclip.data.derive.segment_table import read_segments
from hnclip.data.derive.segments import write
from hnclip.data.manifest import read_manifest
from hnclip.store import read_json, write_json

EDGES = {"kind": "canny", "low": 20, "high": 40}


def read_back(manifest, path):
    out = path.parent / "back.parquet"
    write(manifest, entry("json", path=str(path)), out, out.with_suffix(".json"))
    return read_segments(out), read_json(out.with_suffix(".json"))


@pytest.mark.parametrize("edges", [None, EDGES])
def test_written_and_read_back_it_is_the_same_table(tmp_path, edges):
    manifest = make_scenes(tmp_path, 4, captions=2)
    same = {"caption": "A cat. A cat. A cat.", "sentences": ["A cat."] * 3, "boxes": [None, [0, 0, 9, 9], [1, 1, 9, 9]]}

    def edit(rows):
        rows[0].update(same)
        rows[4]["boxes"] = rows[5]["boxes"] = rows[7]["boxes"] = [None] * 4

    change(manifest, edit)
    segments = segmented(manifest)
    assert write_exchange(manifest, segments, tmp_path / "out", edges) == 3
    found, record = read_back(manifest, tmp_path / "out" / "segments.json")
    expected = read_segments(segments)
    assert scored(found).equals(scored(expected))
    assert np.abs(found["score"] - expected["score"]).max() < 1e-6
    assert record["rows"] == record["regions_kept"] == len(expected) and record["images_elsewhere"] == 0
    assert record["captions_without_region"] == 3


def test_the_file_and_its_pictures_are_as_the_others_have_them(tmp_path):
    manifest = make_scenes(tmp_path, 2, captions=2)
    segments, folder = segmented(manifest), tmp_path / "out"
    write_exchange(manifest, segments, folder, EDGES)
    frame, regions = read_manifest(manifest), read_segments(segments)
    entries = read_json(folder / "segments.json")
    assert [entry["original_caption"] for entry in entries] == frame["caption"].tolist()
    assert [len(entry["segment"]) for entry in entries] == [3] * 4
    assert entries[2]["original_filename"] == "s 1.png"
    assert entries[2]["original_filename_structure"] == "s 1.png.png"
    region, segment = regions.iloc[6], entries[2]["segment"][0]
    assert segment["similarity_score"] == pytest.approx(100 * region["score"])
    assert segment["caption"] == frame["caption"][2][region["start"] : region["end"]]
    box = segment["bbox_coordinates"]
    assert [box[key] for key in ("x1", "y1", "x2", "y2")] == region[["left", "top", "right", "bottom"]].tolist()
    assert (box["width"], box["height"]) == (box["x2"] - box["x1"], box["y2"] - box["y1"])
    whole = Image.open(tmp_path / "images" / "s 1.png")
    crop = whole.crop((box["x1"], box["y1"], box["x2"], box["y2"]))
    assert np.array_equal(Image.open(folder / "crops" / segment["filename"]), crop)
    edge = Image.open(folder / "edges" / "s 1.png.png")
    edge_crop = Image.open(folder / "edge_crops" / segment["filename_structure_cropped"])
    assert edge.size == whole.size and edge_crop.mode == "L" and edge_crop.size == crop.size
    # The captions of an image share its boxes, so they share the crops.
    assert len(list((folder / "crops").iterdir())) == 6
    assert {part["filename"] for part in entries[2]["segment"]} == {part["filename"] for part in entries[3]["segment"]}


@pytest.fixture
def foreign(tmp_path):
    """A file as others have it: width and height that fit nothing, paths, no places; and its manifest."""
    manifest = make_scenes(tmp_path, 3)
    sentences = read_manifest(manifest)["sentences"]
    entries = [
        {
            "original_filename": f"somewhere/s {index}.png",
            "original_filename_structure": "x.png",
            "original_caption": "  ".join(sentences[index]),
            "segment": [
                {
                    "filename": "y.png",
                    "filename_structure_cropped": "z.png",
                    "caption": sentences[index][2].rstrip("."),
                    "similarity_score": 30.5,
                    "bbox_coordinates": {"x1": 3, "y1": 4, "x2": 20, "y2": 48, "width": 5, "height": 6},
                }
            ],
        }
        for index in (2, 0)
    ]
    return manifest, entries, tmp_path / "their.json"


def test_others_files_are_read(foreign):
    manifest, entries, path = foreign
    elsewhere = copy.deepcopy(entries[0])
    elsewhere["original_filename"] = "another.png"
    write_json(path, [*entries, elsewhere])
    found, record = read_back(manifest, path)
    assert found["id"].tolist() == ["s0", "s2"] and found["score"].tolist() == [np.float32(0.305)] * 2
    assert found[["left", "top", "right", "bottom"]].to_numpy().tolist() == [[3, 4, 20, 48]] * 2
    frame = read_manifest(manifest)
    for row in found.itertuples():
        assert frame["caption"][row.caption][row.start : row.end] + "." == frame["sentences"][row.caption][2]
    assert record["images_elsewhere"] == 1 and record["captions_without_region"] == 1


FAULTS = {
    "segment 0: the sentence 'Nothing' is not in the caption": lambda s: s.update(caption="Nothing"),
    "missing or of the wrong kind: similarity_score": lambda s: s.update(similarity_score="30"),
    "wrong kind: caption, bbox_coordinates": lambda s: [s.pop("caption"), s.pop("bbox_coordinates")],
    "whole pixels of the image": lambda s: s["bbox_coordinates"].update(x1=0.5),
    "y2 are to be whole": lambda s: s["bbox_coordinates"].pop("y2"),
    "is empty or leaves the image of 48 x 48": lambda s: s["bbox_coordinates"].update(y2=49),
    "is empty or": lambda s: s["bbox_coordinates"].update(x1=20),
    "sentence_range [0, 2] is not the place": lambda s: s.update(sentence_range=[0, 2]),
    "sentence_range is to be two": lambda s: s.update(sentence_range="0-2"),
}


@pytest.mark.parametrize("message", FAULTS)
def test_faults_of_segments_are_named(foreign, message):
    manifest, entries, path = foreign
    FAULTS[message](entries[1]["segment"][0])
    write_json(path, entries)
    with pytest.raises(ValueError) as caught:
        read_exchange(path, read_manifest(manifest))
    assert message in str(caught.value) and "entry 1 (somewhere/s 0.png)" in str(caught.value)
    assert "entry 0" not in str(caught.value)


def test_all_faults_of_entries_are_named(foreign):
    manifest, entries, path = foreign
    entries[0]["original_caption"] = "Another caption."
    del entries[1]["segment"]
    write_json(path, [*entries, "text"])
    with pytest.raises(ValueError) as caught:
        read_exchange(path, read_manifest(manifest))
    message = str(caught.value)
    assert "entry 0 (somewhere/s 2.png): 0 captions of this image" in message
    assert "entry 1: missing or of the wrong kind: segment" in message and "entry 2: expected original_" in message


def test_ambiguous_images_and_files_of_other_data_are_refused(foreign):
    manifest, entries, path = foreign
    write_json(path, entries)
    change(manifest, lambda rows: rows[1].update(image="other/s 2.png"))
    with pytest.raises(ValueError, match="several images of the manifest have this file name: s1, s2"):
        read_exchange(path, read_manifest(manifest))
    segments = segmented_by_hand(manifest)
    with pytest.raises(ValueError, match="share: images/s 2.png, other/s 2.png"):
        write_exchange(manifest, segments, manifest.parent / "out")
    for wrong in ([], {}, [{**entries[0], "original_filename": "x.png"}]):
        write_json(path, wrong)
        with pytest.raises(ValueError, match="their.json"):
            read_exchange(path, read_manifest(manifest))


def segmented_by_hand(manifest):
    from hnclip.data.derive.segment_table import write_segments

    box = {"left": 0, "top": 0, "right": 9, "bottom": 9, "start": 0, "end": 3, "score": 0.1}
    write_segments(manifest.parent / "s.parquet", [{"id": f"s{row}", "caption": row, **box} for row in range(3)])
    return manifest.parent / "s.parquet"


def test_the_command_writes_and_says_what_it_left_out(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    change(manifest, lambda rows: rows[1].update(boxes=[None] * 4))
    segments = segmented(manifest)
    (tmp_path / "edges.json").write_text(json.dumps(EDGES))
    command = [sys.executable, "-m", "hnclip.data.derive.exchange", manifest, segments, tmp_path / "out"]
    command += ["--edges", tmp_path / "edges.json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "captions without a region, left out: 1\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "crops",
        "edge_crops",
        "edges",
        "segments.json",
    ]
