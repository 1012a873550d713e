import hashlib
import json

import pytest
from archives import docci_rows, picture, put_fetched, write_docci

from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import docci, prepare

COUNTS = {"train": 3, "qual_dev": 2, "test": 4}


def rows():
    return docci_rows(train=3, qual_dev=2, test=2, qual_test=2)


def made(tmp_path, options=None, given=None, splits=None, **replaced):
    put_fetched(tmp_path / "results", "docci", write_docci(tmp_path / "from", given or rows(), **replaced))
    folder = tmp_path / "results" / "data" / "photos"
    options = {"counts": COUNTS} if options is None else options
    prepare({"name": "photos", "kind": "docci", "options": options, "splits": splits or []}, folder)
    return {path.stem: read_manifest(path) for path in folder.glob("*.parquet")}


def refused(tmp_path, *args, **replaced):
    with pytest.raises(ValueError) as caught:
        made(tmp_path, *args, **replaced)
    assert not list(tmp_path.glob("results/data/photos/*.parquet"))
    return str(caught.value)


def test_goal_tests_on_both_test_splits(tmp_path):
    found = made(tmp_path)
    assert {split: len(frame) for split, frame in found.items()} == COUNTS
    assert found["test"].id.tolist() == ["test_00000", "test_00001", "qual_test_00000", "qual_test_00001"]
    assert set(found["test"].split) == {"test"}
    first = found["train"].iloc[0]
    assert (first.width, first.height, first.sha256) == (12, 8, hashlib.sha256(picture(0)).hexdigest())
    assert first.sentences == [
        "A view of the train fountain 0.",
        "Water is in front of it, at 4.5 metres.",
        "Day.",
    ]
    assert first.boxes == [None] * 3


def test_official_has_qual_test_apart(tmp_path):
    counts = {"train": 3, "qual_dev": 2, "test": 2, "qual_test": 2}
    found = made(tmp_path, {"protocol": "official", "counts": counts})
    assert {split: len(frame) for split, frame in found.items()} == counts


def test_the_published_counts():
    assert docci.PUBLISHED["goal"] == {"train": 9647, "qual_dev": 100, "test": 5100}
    assert docci.PUBLISHED["official"] == {"train": 9647, "qual_dev": 100, "test": 5000, "qual_test": 100}


def test_other_counts_than_published_stop_and_are_explained(tmp_path):
    message = refused(tmp_path, {})
    for part in ("train: 3 images instead of 9,647", "test: 4 images instead of 5,100", "'official' has", "test 5,000"):
        assert part in message
    assert "counts: null" in message


def test_counts_may_be_left_unchecked_and_wrong_names_are_refused(tmp_path):
    assert len(made(tmp_path, {"counts": None})["test"]) == 4
    with pytest.raises(ValueError, match="unknown split 'qual_test'.*known: train, qual_dev, test"):
        docci.splits({"counts": {"qual_test": 100}})


def test_captions_stay_as_they_are_but_for_a_byte_order_mark(tmp_path):
    given = rows()
    odd = "\ufeffA\u00a0tall tree.\r\nIt stands\nalone. "
    given[0]["description"] = odd
    assert made(tmp_path, given=given)["train"].caption[0] == odd.removeprefix("\ufeff")


def test_every_fault_is_named_at_once(tmp_path):
    given = rows()
    given[1]["description"] = " \u00a0\n"
    given.append({**given[0], "description": "Another."})
    given.append({**given[0], "example_id": "x", "image_file": "../train_00000.jpg"})
    given.append({**given[0], "example_id": "y", "split": "dev"})
    broken = picture(3)[:150]
    message = refused(tmp_path, {"counts": None}, given, qual_dev_00000=None, qual_dev_00001=b"", test_00000=broken)
    for part in (
        "empty 'description'",
        "line 2",
        "ids that are there twice",
        "line 10, as line 1: 'train_00000'",
        "no plain file name",
        "line 12: 'dev'",
        "images that are not there",
        "qual_dev_00000.jpg",
        "qual_dev_00001.jpg: the file is empty",
        "test_00000.jpg: cannot be read",
    ):
        assert part in message
    assert "'dev'" in (tmp_path / "results/data/photos/problems.txt").read_text()


def test_a_wrong_extension_is_no_fault_since_the_content_decides(tmp_path):
    assert made(tmp_path, train_00000=picture(9, form="PNG"))["train"].width[0] == 12


def test_the_same_picture_twice_is_worth_a_look(tmp_path, capsys):
    made(tmp_path, train_00000=picture(4), test_00000=picture(4))
    assert "same image" in capsys.readouterr().out
    assert "'train_00000'" in (tmp_path / "results/data/photos/warnings.txt").read_text()


def test_another_file_in_its_place_is_refused(tmp_path):
    files = write_docci(tmp_path / "from", rows())
    files["docci_descriptions.jsonlines"].write_text(json.dumps({"image": "a.jpg", "caption": "A."}) + "\n")
    put_fetched(tmp_path / "results", "docci", files)
    with pytest.raises(ValueError, match="has no column for .*example_id"):
        docci.prepare({}, tmp_path / "results" / "data" / "photos")


def test_a_web_page_in_its_place_is_shown(tmp_path):
    files = write_docci(tmp_path / "from", rows())
    files["docci_descriptions.jsonlines"].write_text("<html>log in</html>\n")
    put_fetched(tmp_path / "results", "docci", files)
    with pytest.raises(ValueError, match="jsonlines: no line can be read\n(.*\n)*.*line 1: "):
        docci.prepare({}, tmp_path / "results" / "data" / "photos")


def test_without_the_source_the_message_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="docci"):
        docci.prepare({}, tmp_path / "results" / "data" / "photos")
