"""Visual Genome paragraphs from files of the published layout."""

import json

import numpy as np
import pytest
from PIL import Image

from hnclip.data import near_duplicates
from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import prepare
from hnclip.data.prepared_rows import Pair, write_splits

LISTS = {"train": [2356347, 2317429, 2414610, 7], "val": [2365091, 9], "test": [2383120, 11]}
SECOND = (2317429, 2365091, 11)  # those whose pictures are in the second archive
COUNTS = {split: len(ids) for split, ids in LISTS.items()}


def paragraph(number):
    return f"A large building {number} stands here.  There are people in front of it. The sky is blue. "


def entry(number, text=None):
    url = f"https://cs.stanford.edu/people/rak248/VG_100K{'_2' if number in SECOND else ''}/{number}.jpg"
    return {"url": url, "image_id": number, "paragraph": paragraph(number) if text is None else text}


class Downloads:
    """The source as fetched and unpacked."""

    def __init__(self, folder):
        self.folder, self.out = folder / "results/downloads/visual_genome", folder / "results/data/vg_paragraphs"
        self.paragraphs = [entry(number) for number in (2383120, *LISTS["train"], *LISTS["val"], 11)]
        self.lists = {split: list(ids) for split, ids in LISTS.items()}
        for number in {number for ids in LISTS.values() for number in ids}:
            path = self.picture(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.default_rng(number).integers(0, 256, (6, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((80, 60)).save(path)

    def picture(self, number):
        place = "images2/VG_100K_2" if number in SECOND else "images/VG_100K"
        return self.folder / place / f"{number}.jpg"

    def write(self):
        unpacked = {"paragraphs_v1.json.zip": "paragraphs", "images.zip": "images", "images2.zip": "images2"}
        (self.folder / "paragraphs").mkdir(exist_ok=True)
        (self.folder / "paragraphs" / "paragraphs_v1.json").write_text(json.dumps(self.paragraphs))
        for split, ids in self.lists.items():
            (self.folder / f"{split}_split.json").write_text(json.dumps(ids))
        names = [*unpacked, *(f"{split}_split.json" for split in self.lists)]
        for name in unpacked:
            (self.folder / name).write_bytes(b"PK")
        files = {name: {"path": name, "unpacked": unpacked.get(name)} for name in names}
        (self.folder / "fetched.json").write_text(json.dumps({"source": "visual_genome", "files": files}))

    def made(self, **options):
        self.write()
        options = {"counts": COUNTS, **options}
        prepare({"name": "vg", "kind": "vg_paragraphs", "options": options, "splits": ["train"]}, self.out)
        return {split: read_manifest(self.out / f"{split}.parquet") for split in LISTS}

    def refused(self, **options):
        with pytest.raises((ValueError, FileNotFoundError)) as caught:
            self.made(**options)
        assert not list(self.out.glob("*.parquet"))
        return str(caught.value)


@pytest.fixture
def source(tmp_path):
    return Downloads(tmp_path)


def test_paragraphs_lists_and_both_archives_become_manifests(source, capsys):
    found = source.made()
    assert {split: sorted(map(int, frame.id)) for split, frame in found.items()} == {
        split: sorted(ids) for split, ids in LISTS.items()
    }
    first = found["train"].iloc[0]
    assert (first.id, first.image, first.width) == ("2356347", str(source.picture(2356347)), 80)
    assert first.caption == paragraph(2356347).strip() and "here.  There" in first.caption
    assert len(first.sentences) == 3
    assert json.loads((source.out / "counts.json").read_text())["splits"]["train"] == {
        "ids in the list": 4,
        "images": 4,
        "paragraphs": 4,
        "excluded": 0,
    }
    assert "train: 4 ids in the list, 4 images, 4 paragraphs, 0 excluded" in capsys.readouterr().out


def test_an_image_with_two_paragraphs_keeps_the_first_or_all_that_differ(source, capsys):
    source.paragraphs += [entry(7, "Another text. "), entry(7, paragraph(7) + " "), entry(9, "One more.")]
    found = source.made()
    assert found["train"].set_index("id").caption["7"] == paragraph(7).strip() and len(found["train"]) == 4
    record = json.loads((source.out / "counts.json").read_text())
    assert record["several_paragraphs"] == {"7": 3, "9": 2} and record["splits"]["train"]["paragraphs"] == 6
    assert "train: 4 ids in the list, 4 images, 6 paragraphs" in capsys.readouterr().out
    found = source.made(repeats="all")
    assert found["train"].set_index("id").caption.loc["7"].tolist() == [paragraph(7).strip(), "Another text."]
    assert found["val"].id.tolist() == ["2365091", "9", "9"]


def test_counts_must_be_the_published_ones(source):
    message = source.refused(counts="published")
    assert "train: 4 images instead of 14,575" in message and "val: 2 images instead of 2,487" in message
    assert "test: 2 images instead of 2,489" in message and "14,579" in message and "19,561" in message
    assert "paragraphs found: train 4, val 2, test 2" in message and "`counts: null`" in message
    assert "unknown split 'validation'" in source.refused(counts={"validation": 2})
    assert len(source.made(counts=None)["train"]) == 4


def test_missing_pictures_are_all_named_until_they_are_left_out(source, tmp_path):
    for number in (7, 2365091):
        source.picture(number).unlink()
    message = source.refused()
    assert "fetch images.zip and images2.zip again" in message and "    7.jpg\n    2365091.jpg" in message
    (tmp_path / "out.txt").write_text("7\r\n\n2365091\n")
    source.lists["val"].append(2383120), source.lists["test"].remove(2383120)
    source.lists["test"].append(13), source.paragraphs.append(entry(13))
    Image.new("RGB", (9, 9), "red").save(source.folder / "images/VG_100K/13.jpg")
    found = source.made(exclude=str(tmp_path / "out.txt"), counts={"train": 4, "val": 3, "test": 2})
    assert "7" not in found["train"].id.tolist() and len(found["train"]) == 3 and len(found["val"]) == 2
    assert json.loads((source.out / "counts.json").read_text())["excluded"] == ["2365091", "7"]


def test_a_list_of_another_benchmark_is_refused(source, tmp_path):
    assert "no such list of ids (option `exclude`)" in source.refused(exclude=str(tmp_path / "none.txt"))
    (tmp_path / "out.txt").write_text("7\ntest_00012\n12345\n")
    message = source.refused(exclude=str(tmp_path / "out.txt"))
    assert "do not have: 2\n    'test_00012'\n    '12345'" in message


def test_torn_files_are_named(source):
    source.paragraphs += [{"image_id": 7}, {"image_id": 9, "paragraph": None}, "text", entry(9, "half \ud800")]
    source.lists["val"] += [7, "x", 9]
    source.lists["test"] += [99]
    message = source.refused()
    assert all(f"entry {number}: expected an object" in message for number in (9, 10, 11))
    assert "entry 12 (image 9): \\ud800 is half a character" in message
    assert "7: train and val" in message and "val_split.json: entry 4" in message
    assert "without a paragraph (leave them out: option `exclude`): 1\n    99" in message


def test_files_that_are_others_say_so(source):
    source.paragraphs = {"images": []}
    assert "paragraphs_v1.json is no list, but dict" in source.refused()
    source.paragraphs = [entry(7)]
    source.write()
    (source.folder / "train_split.json").write_text("[1, 2")
    with pytest.raises(ValueError, match=r"train_split\.json is no valid JSON"):
        prepare({"name": "vg", "kind": "vg_paragraphs", "options": {}}, source.out)


def test_empty_paragraphs_and_strangers(source, capsys):
    source.paragraphs.append(entry(5))
    source.lists["val"].append(9)
    source.made()
    said = capsys.readouterr().out
    assert "no id list has, left out: 1" in said and "ids that a list has twice, counted once: 1" in said
    for path in source.out.glob("*.parquet"):
        path.unlink()
    source.paragraphs[1] = entry(2356347, " \n ")
    assert "empty paragraphs (leave their images out: option `exclude`): 1\n    2356347" in source.refused()


def test_a_control_character_that_was_published_stays_and_is_told(source, capsys):
    source.paragraphs[1] = entry(2356347, "Two\x03boats.")
    assert "Two\x03boats." in set(source.made()["train"].caption)
    said = capsys.readouterr().out
    assert "captions with control characters, kept: 1\nwarning:   image 2356347: 'Two\\x03boats.'" in said


def test_one_id_in_both_archives(source):
    copy = source.folder / "images2/VG_100K_2/7.jpg"
    copy.write_bytes(source.picture(7).read_bytes())
    assert len(source.made()["train"]) == 4
    for path in source.out.glob("*.parquet"):
        path.unlink()
    copy.write_bytes(source.picture(9).read_bytes())
    assert f"{source.picture(7)} and {copy}" in source.refused()


def test_no_picture_at_all(source):
    for folder in ("images", "images2"):
        (source.folder / folder).rename(source.folder / f"{folder} elsewhere")
        (source.folder / folder).mkdir()
    assert "no pictures in" in source.refused()


def test_what_another_benchmark_has_too_is_measured_and_left_out(source, tmp_path):
    source.made()
    images = tmp_path / "urban"
    images.mkdir()
    (images / "1.jpg").write_bytes(source.picture(7).read_bytes())
    Image.open(source.picture(2414610)).resize((40, 30)).save(images / "2.jpg", quality=80)
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize((80, 60)).save(
        images / "3.png"
    )
    pairs = [Pair(path.stem, path, f"street {path.stem}", "test") for path in sorted(images.iterdir())]
    write_splits(tmp_path / "urban1k", pairs, ["test"])
    ids = tmp_path / "overlap.txt"
    paths = [
        source.out / "train.parquet",
        tmp_path / "urban1k/test.parquet",
        tmp_path / "o.parquet",
        tmp_path / "o.json",
    ]
    near_duplicates.main(*paths, ids)
    assert sorted(ids.read_text().split()) == ["2414610", "7"]
    assert json.loads((tmp_path / "o.json").read_text())["b_found"] == 2
    assert source.made(exclude=str(ids))["train"].id.tolist() == ["2356347", "2317429"]
