import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hnclip.data.images import read_image
from hnclip.data.manifest import image_path, read_manifest
from hnclip.data.prepare import kinds, prepare
from hnclip.data.scene import COLOURS, SHAPES, unseen
from hnclip.store import write_json

PAIRS = {"train": 22, "validation": 8, "test": 16, "unseen": 16}
OPTIONS = {"seed": 3, "pairs": PAIRS, "family": 8, "edits": [1, 2], "objects": [3, 5], "pixels": 48}


def made(folder, **options):
    prepare({"name": "scenes", "kind": "scenes", "options": {**OPTIONS, **options}}, folder)
    return {path.stem: read_manifest(path) for path in sorted(Path(folder).glob("*.parquet"))}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    return folder, made(folder)


def test_every_split_has_its_pairs_in_families(benchmark):
    _, frames = benchmark
    assert {split: len(frame) for split, frame in frames.items()} == PAIRS
    assert frames["train"].groupby("family").size().tolist() == [8, 8, 6]
    assert frames["test"].id[13] == "test-0001-5" and frames["test"].family[13] == "test-0001"


def test_no_caption_and_no_picture_is_twice_in_the_benchmark(benchmark):
    _, frames = benchmark
    for column in ("caption", "sha256", "id"):
        values = [value for frame in frames.values() for value in frame[column]]
        assert len(set(values)) == len(values) == sum(PAIRS.values())


def test_twins_differ_from_the_first_in_one_or_two_sentences(benchmark):
    _, frames = benchmark
    for _, family in frames["test"].groupby("family"):
        first, *twins = family.sentences
        for twin in twins:
            assert len(first) == len(twin)
            assert 1 <= sum(a != b for a, b in zip(first, twin, strict=True)) <= 2


def test_captions_are_their_sentences_and_boxes_show_the_objects(benchmark):
    folder, frames = benchmark
    for row in frames["test"].itertuples():
        assert row.caption == " ".join(row.sentences)
        assert row.boxes[0] is None and len(row.boxes) == len(row.sentences)
        pixels = np.asarray(read_image(image_path(folder / "test.parquet", row.image), "ignore")).astype(int)
        assert pixels.shape == (row.height, row.width, 3)
        outside = np.ones(pixels.shape[:2], bool)
        for left, top, right, bottom in row.boxes[1:]:
            assert np.ptp(pixels[top:bottom, left:right], axis=(0, 1)).max() > 20
            outside[top:bottom, left:right] = False
        assert np.ptp(pixels[outside], axis=0).max() == 0  # nothing but ground


def look(sentence):
    """The shape and the colour that a sentence tells of."""
    words = set(re.findall(r"\w+", re.sub("(dotted|edged) in black", "", sentence)))
    ((shape,), (colour,)) = words & set(SHAPES), words & set(COLOURS)
    return shape, colour


def test_only_the_unseen_split_has_the_held_out_looks(benchmark):
    _, frames = benchmark
    for split, frame in frames.items():
        looks = [look(sentence) for sentences in frame.sentences for sentence in sentences[1:]]
        assert {unseen(*found) for found in looks} == {split == "unseen"}


def test_manifests_say_what_the_files_are(benchmark):
    folder, frames = benchmark
    row = frames["validation"].iloc[3]
    data = image_path(folder / "validation.parquet", row.image).read_bytes()
    assert row.image == "images/validation/validation-0000-3.png" and row.split == "validation"
    assert hashlib.sha256(data).hexdigest() == row.sha256


def test_a_seed_gives_the_same_files_and_another_seed_others(benchmark, tmp_path):
    _, frames = benchmark
    (tmp_path / "images" / "test").mkdir(parents=True)
    (tmp_path / "images" / "test" / "stale.png").write_bytes(b"of an earlier run")
    again = made(tmp_path)
    assert all(again[split].equals(frames[split]) for split in PAIRS)
    assert len(list((tmp_path / "images" / "test").iterdir())) == PAIRS["test"]
    other = made(tmp_path / "other", seed=4)
    assert not set(other["test"].caption) & set(frames["test"].caption)


def test_more_objects_make_longer_captions(tmp_path):
    frame = made(tmp_path, objects=[7, 8], pairs={"long": 8}, unseen=["long"])["long"]
    assert all(len(sentences) in (8, 9) for sentences in frame.sentences)
    assert min(len(caption.split()) for caption in frame.caption) > 77  # a word is at least a token


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unseen": ["unsen"]}, r"unknown split 'unsen' \(did you mean 'unseen'\?\)"),
        ({"famly": 8}, r"unknown option 'famly' \(did you mean 'family'\?\)"),
        (
            {"pairs": {"train": 0, "b": 1, "c": 2}},
            "at least 2 in every split: split 'b' has 1 image; split 'train' has 0 i",
        ),
        ({"objects": [5, 3]}, r"objects must be \[lowest, highest\] within 1 to 9, got \[5, 3\]"),
        ({"pixels": 3}, "pixels must be at least"),
        ({"pairs": {"a/b": 8}}, "split names are letters"),
        ({"pairs": {"test": 8, "Test": 8}}, "differ only in case: 'test' and 'Test'"),
        ({"pairs": {"train": 90}, "family": 90, "objects": [1, 1], "edits": [1, 1]}, "ask for fewer pairs"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        made(tmp_path / "out", **options)
    assert not list(tmp_path.rglob("*.p*"))


def test_unknown_kinds_and_splits_are_named(tmp_path):
    assert {"scenes", "folder", "stamps"} <= set(kinds())
    with pytest.raises(
        ValueError, match=r"benchmark 'b': unknown kind 'scene' \(did you mean 'scenes'\?\); known: .*stamps"
    ):
        prepare({"name": "b", "kind": "scene", "options": {}}, tmp_path)
    with pytest.raises(ValueError, match=r"no split 'tests' \(did you mean 'test'\?\); its splits: train"):
        prepare({"name": "b", "kind": "scenes", "options": OPTIONS, "splits": ["train", "tests"]}, tmp_path)


def test_the_command_writes_files_or_says_one_line(tmp_path):
    write_json(tmp_path / "c.json", {"name": "b", "kind": "scenes", "options": {"seed": 1, "pairs": {"train": 2}}})
    command = [sys.executable, "-m", "hnclip.data.prepare", str(tmp_path / "c.json"), str(tmp_path / "out")]
    subprocess.run(command, check=True)
    assert len(read_manifest(tmp_path / "out" / "train.parquet")) == 2
    write_json(tmp_path / "c.json", {"name": "b", "kind": "scenes", "options": {"pairs": {"train": 2}}})
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: scenes: option 'seed' is missing (expected a whole number)\n"


def test_preparing_does_not_load_torch():
    code = (
        "import sys, importlib, hnclip.data.prepare as p; [importlib.import_module(f'hnclip.data.prepare.{k}') "
        "for k in p.kinds()]; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_kind_that_writes_a_split_of_one_image_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("hnclip.data.composed.few_images", lambda pairs: [])
    with pytest.raises(ValueError, match=r"benchmark 'scenes': splits with fewer than 2 .*: split 'test' has 1 image$"):
        made(tmp_path, pairs={"train": 2, "test": 1})
