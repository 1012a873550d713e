"""Regions matched with sentences: the arithmetic by its definition, the counts, and every fault named."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from regions_world import BACKBONE, PIXELS, change, entry, make_scenes, replace_image, segmented, turned

from hnclip.data.derive.segment_table import read_segments, read_segments_of
from hnclip.data.derive.segmenters.felzenszwalb import shared, surface
from hnclip.data.derive.segments import write
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import read_manifest
from hnclip.data.tokens import tokenize
from hnclip.models.load import backbone_from
from hnclip.store import read_json

FELZENSZWALB = {"scales": [50, 200], "min_size": 20}


@pytest.fixture(scope="module")
def embed():
    """Embeddings of one picture or one sentence at a time; a sentence is computed once."""
    backbone, known = backbone_from(BACKBONE).eval(), {}

    @torch.no_grad()
    def cosines(manifest, row, box):
        image = Image.open(manifest.parent / row["image"]).convert("RGB").crop(box)
        pixels = torch.from_numpy(transform_image(image, Transform(**BACKBONE["transform"])).copy())
        crop_D = backbone.image(pixels[None])[0][0]
        for text in set(row["sentences"]) - set(known):
            known[text] = backbone.text(*tokenize([text], "clip", 248).batch(np.array([0])))[0][0]
        return [float(known[text] @ crop_D) for text in row["sentences"]]

    return cosines


def test_given_boxes_keep_their_sentences_and_are_scored(tmp_path, embed):
    manifest = make_scenes(tmp_path, 2, captions=2)
    frame = read_manifest(manifest)
    regions = read_segments_of(segmented(manifest), frame)
    assert len(regions) == 2 * 2 * 3 and regions["caption"].nunique() == 4
    for region in regions.to_dict("records"):
        row = frame.loc[region["caption"]]
        box = [region[side] for side in ("left", "top", "right", "bottom")]
        sentence = row["caption"][region["start"] : region["end"]]
        number = row["sentences"].index(sentence)
        assert row["boxes"][number] == box and region["id"] == row["id"]
        assert region["score"] == pytest.approx(embed(manifest, row, box)[number], abs=1e-5)
    record = read_json(tmp_path / "segments.json")
    assert record.pop("seconds") > 0
    counts = {"images": 2, "captions": 4, "regions_proposed": 12, "regions_kept": 12, "rows": 12}
    assert record == {**counts, "captions_without_region": 0}


def test_a_found_region_gets_the_best_sentence_of_every_caption(tmp_path, embed):
    manifest = make_scenes(tmp_path, 3, captions=2)
    frame = read_manifest(manifest)
    regions = read_segments_of(segmented(manifest, "felzenszwalb", scales=[200], area=[0.05, 0.3]), frame)
    record = read_json(tmp_path / "segments.json")
    assert record["regions_kept"] >= 3 and record["rows"] == len(regions) == 2 * record["regions_kept"]
    assert record["regions_proposed"] >= record["regions_kept"]
    best = set()
    for region in regions.to_dict("records"):
        row = frame.loc[region["caption"]]
        cosine_S = embed(manifest, row, [region[side] for side in ("left", "top", "right", "bottom")])
        number = int(np.argmax(cosine_S))
        assert row["caption"][region["start"] : region["end"]] == row["sentences"][number]
        assert region["score"] == pytest.approx(cosine_S[number], abs=1e-5)
        best.add(number)
    assert len(best) > 1


def test_felzenszwalb_finds_the_objects(tmp_path):
    manifest = make_scenes(tmp_path, 4, objects=1)
    regions = read_segments(segmented(manifest, "felzenszwalb", **FELZENSZWALB))
    for caption, row in read_manifest(manifest).iterrows():
        expected = row["boxes"][1]
        mine = regions[regions["caption"] == caption][["left", "top", "right", "bottom"]].to_numpy()
        assert np.abs(mine - expected).max(1).min() <= 3
        assert len(np.unique(mine, axis=0)) == len(mine)


def test_felzenszwalb_keeps_no_background_and_none_of_two_that_are_nearly_the_same(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    many = {"scales": [50, 100, 200, 400], "min_size": 10}
    found, kept = (read_segments(segmented(manifest, "felzenszwalb", **many, overlap=most)) for most in (1.0, 0.5))
    assert 0 < len(kept) < len(found)
    for _, rows in kept.groupby("caption"):
        boxes = rows[["left", "top", "right", "bottom"]].to_numpy().tolist()
        assert all(shared(a, b) <= 0.5 for number, a in enumerate(boxes) for b in boxes[:number])
        assert all(surface(box) <= 0.8 * 48 * 48 for box in boxes)


def test_a_smaller_copy_is_cut_up_and_boxes_are_those_of_the_image(tmp_path):
    manifest = make_scenes(tmp_path, 1)
    image = Image.new("RGB", (400, 200), "white")
    image.paste((200, 0, 0), (100, 40, 220, 120))
    replace_image(manifest, "s0", image)
    found = read_segments(segmented(manifest, "felzenszwalb", longest=100, area=[0, 1], sigma=0.0))
    boxes = found[["left", "top", "right", "bottom"]].to_numpy().tolist()
    assert [100, 40, 220, 120] in boxes and [0, 0, 400, 200] in boxes


def test_the_range_of_areas_includes_its_ends(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    boxes = [[0, 0, 24, 24], [0, 0, 48, 24], [0, 0, 25, 24], None]

    def edit(rows):
        for row in rows:
            row["boxes"] = boxes

    change(manifest, edit)
    regions = read_segments(segmented(manifest, area=[0.25, 0.5]))
    assert sorted(regions["right"]) == [24, 24, 25, 25, 48, 48]
    regions = read_segments(segmented(manifest, area=[0.251, 0.499]))
    assert sorted(regions["right"]) == [25, 25]
    record = read_json(tmp_path / "segments.json")
    assert (record["regions_proposed"], record["regions_kept"]) == (6, 2)


def test_captions_without_regions_are_counted(tmp_path):
    manifest = make_scenes(tmp_path, 3)
    change(manifest, lambda rows: rows[1].update(boxes=[None] * 4))
    assert set(read_segments(segmented(manifest))["id"]) == {"s0", "s2"}
    assert read_json(tmp_path / "segments.json")["captions_without_region"] == 1


def test_equal_sentences_keep_their_own_places(tmp_path):
    manifest = make_scenes(tmp_path, 1)
    same = {"caption": "A cat.  A\ncat. A dog. A cat.", "sentences": ["A cat.", "A cat.", "A dog.", "A cat."]}
    change(manifest, lambda rows: rows[0].update(same))
    regions = read_segments(segmented(manifest))
    assert sorted(zip(regions["start"], regions["end"], strict=True)) == [(8, 14), (15, 21), (22, 28)]


@pytest.mark.parametrize("kind", ["given", "felzenszwalb"])
def test_images_that_cannot_be_used_are_all_named(tmp_path, kind):
    manifest = make_scenes(tmp_path, 4)
    (tmp_path / "images" / "s 1.png").unlink()
    (tmp_path / "images" / "s 2.png").write_bytes(b"changed")
    with pytest.raises(ValueError, match="2 of the 4 images") as caught:
        segmented(manifest, kind)
    assert "s 1.png: no such image" in str(caught.value) and "s 2.png: changed since" in str(caught.value)
    assert not list(tmp_path.glob("segments*"))


def test_an_image_that_exif_would_turn_is_refused_only_where_exif_is_applied(tmp_path):
    manifest = make_scenes(tmp_path, 3)
    image = Image.open(tmp_path / "images" / "s 1.png").copy()
    path = replace_image(manifest, "s1", image, exif=turned())
    applied = entry("given")
    applied["backbone"] = {**BACKBONE, "transform": {**BACKBONE["transform"], "exif": "apply"}}
    with pytest.raises(ValueError, match="1 of the 3 images .*") as caught:
        write(manifest, applied, tmp_path / "out.parquet", tmp_path / "out.json")
    assert f"{path}: EXIF rotation 6" in str(caught.value) and "`exif: ignore`" in str(caught.value)
    assert len(read_segments(segmented(manifest))) == 9


@pytest.mark.parametrize("box", [[0, 0, PIXELS + 1, 3], [0, 5, 3, 5], [-1, 0, 3, 3], [1, 2, 3]])
def test_boxes_that_are_none_are_named(tmp_path, box):
    manifest = make_scenes(tmp_path, 2)
    change(manifest, lambda rows: rows[1]["boxes"].__setitem__(2, box))
    with pytest.raises(ValueError) as caught:
        segmented(manifest)
    assert f"s1 {box}" in str(caught.value) and "s0" not in str(caught.value)


def test_a_benchmark_without_boxes_and_sentences_of_another_caption_are_refused(tmp_path):
    manifest = make_scenes(tmp_path, 3)
    change(manifest, lambda rows: [row.update(boxes=[None] * 4) for row in rows])
    with pytest.raises(ValueError, match="gives no boxes: choose another kind"):
        segmented(manifest)
    change(manifest, lambda rows: [rows[index].update(caption="Something else.") for index in (0, 2)])
    with pytest.raises(ValueError) as caught:
        segmented(manifest, "felzenszwalb")
    assert "row 0 (s0): the sentence" in str(caught.value) and "row 2 (s2)" in str(caught.value)
    assert "row 1" not in str(caught.value)


@pytest.mark.slow
def test_the_command_writes_the_table_and_says_what_is_wrong(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    expected = segmented(manifest).read_bytes()
    (tmp_path / "entry.json").write_text(json.dumps(entry("given")))
    out = [tmp_path / "out.parquet", tmp_path / "out.json"]
    command = [sys.executable, "-m", "hnclip.data.derive.segments", manifest, tmp_path / "entry.json", *out]
    subprocess.run(command, check=True)
    assert out[0].read_bytes() == expected and read_json(out[1])["rows"] == 6


def test_a_split_in_which_no_region_is_kept_is_refused(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    with pytest.raises(ValueError, match="no region of any of the 2 images was kept; widen `area`"):
        segmented(manifest, "felzenszwalb", area=[0.999, 1.0], scales=[50])
    assert not (tmp_path / "segments.parquet").exists()
