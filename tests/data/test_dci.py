import json

import pytest
from archives import dci_entry, picture, put_fetched, write_dci

from hnclip.data.dci import goal_test_ids
from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import dci, long_dci, prepare

TESTED_IDS = goal_test_ids()[:2]
TESTED = [f"{name}.jpg" for name in TESTED_IDS]
TRAINED = ["sa_1.jpg", "sa_2.jpg", "sa_3.jpg"]
COUNTS = {"train": 3, "test": 2}


def entries():
    """Five images with a long caption and one without; annotation files are not in the order of the ids."""
    return [dci_entry(name) for name in (*reversed(TRAINED), *TESTED)] + [dci_entry("sa_4.jpg", "")]


def put(tmp_path, given=None, photos=None):
    put_fetched(tmp_path / "results", "dci", write_dci(tmp_path / "from", given or entries(), photos))


def made(tmp_path, kind="dci", options=None):
    folder = tmp_path / "results" / "data" / kind
    options = {"counts": COUNTS if kind == "dci" else {"test": 5}} if options is None else options
    prepare({"name": kind, "kind": kind, "options": options}, folder)
    return {path.stem: read_manifest(path) for path in folder.glob("*.parquet")}


def refused(tmp_path, kind="dci", options=None):
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        made(tmp_path, kind, options)
    assert not list(tmp_path.glob("results/data/*/*.parquet"))
    return str(caught.value)


def test_the_ids_of_the_published_test_set_come_with_the_package():
    ids = goal_test_ids()
    assert len(set(ids)) == len(ids) == 1999
    assert all(name.startswith("sa_") and name[3:].isdigit() for name in ids)


def test_goal_tests_on_the_published_ids_and_trains_on_the_rest(tmp_path):
    put(tmp_path)
    found = made(tmp_path)
    assert found["train"].id.tolist() == ["sa_1", "sa_2", "sa_3"]
    assert found["test"].id.tolist() == TESTED_IDS
    first = found["train"].iloc[0]
    assert first.caption == "The long caption of sa_1.jpg. A wall is behind it."
    assert first.sentences == ["The long caption of sa_1.jpg.", "A wall is behind it."]
    assert first.boxes == [None, None]
    assert (first.width, first.height) == (12, 8)


def test_files_that_macos_puts_beside_others_are_passed_over(tmp_path):
    put(tmp_path)
    for path in [*tmp_path.rglob("sa_*.jpg"), *tmp_path.rglob("annotations/*.json")]:
        path.with_name(f"._{path.name}").write_bytes(b"\x00\x05\x16\x07Mac OS X")
    assert list(tmp_path.rglob("annotations/._*.json"))
    assert made(tmp_path)["train"].id.tolist() == ["sa_1", "sa_2", "sa_3"]


def test_full_and_long_dci_hold_every_image_with_a_long_caption_under_the_same_ids(tmp_path, capsys):
    put(tmp_path)
    full = made(tmp_path, options={"protocol": "full", "counts": {"all": 5}})
    assert list(full) == ["all"]
    long = made(tmp_path, "long_dci")
    assert list(long) == ["test"]
    assert long["test"].id.tolist() == full["all"].id.tolist() == sorted(["sa_1", "sa_2", "sa_3", *TESTED_IDS])
    assert "5 images with a long caption, 1 without one left out" in capsys.readouterr().out


def test_the_published_counts():
    assert dci.PUBLISHED == {"goal": {"train": 5603, "test": 1999}, "full": {"all": 7602}}
    assert long_dci.PUBLISHED["all"] == {"test": 7602}
    assert dci.splits({}) == ["train", "test"] and dci.splits({"protocol": "full"}) == ["all"]


@pytest.mark.parametrize("kind", ["dci", "long_dci"])
def test_other_counts_than_published_stop_and_are_explained(tmp_path, kind):
    put(tmp_path)
    message = refused(tmp_path, kind, {})
    for part in ("6 annotated images, 1 of them without", "published: 7,805 and 203", "5,445", "counts: null"):
        assert part in message
    expected = {"dci": ["train: 3 images instead of 5,603", "'full' has all 7,602"], "long_dci": ["7,444"]}[kind]
    assert all(part in message for part in expected)
    if kind == "dci":
        assert "test images that the annotations lack, or whose long caption is empty: 1997" in message


def test_missing_photographs_are_named_with_the_way_to_get_them(tmp_path):
    put(tmp_path, photos=["sa_1.jpg", *TESTED])
    message = refused(tmp_path)
    for part in (
        "sa_2.jpg",
        "sa_3.jpg",
        "images that are not there",
        "segment-anything-downloads",
        "sources.dci.files",
    ):
        assert part in message
    assert "sa_4.jpg" not in message  # it has no long caption: it is not needed


def test_the_photographs_may_lie_in_a_folder_of_ones_own(tmp_path):
    files = write_dci(tmp_path / "from", entries())
    own = tmp_path / "own photos"
    for name in (*TRAINED, *TESTED):
        (own / "sa_000138").mkdir(parents=True, exist_ok=True)
        (own / "sa_000138" / name).write_bytes(picture(sum(name.encode())))
    put_fetched(tmp_path / "results", "dci", {**files, "sa_000138.tar": own})
    assert len(made(tmp_path)["train"]) == 3
    (own / "sa_1.jpg").write_bytes(picture(1))
    with pytest.raises(ValueError, match="photographs of one name"):
        made(tmp_path)


def test_captions_stay_as_they_are_and_blank_ones_count_as_empty(tmp_path, capsys):
    odd = "\ufeffA\u00a0wall.\r\nIt is\nred."
    given = [*entries(), dci_entry("sa_5.jpg", odd), dci_entry("sa_6.jpg", " \u00a0\r\n"), dci_entry("sa_7.jpg")]
    given[-1]["extra_caption"] = None
    put(tmp_path, given)
    found = made(tmp_path, options={"counts": {"train": 4}})["train"]
    assert found.caption[found.id == "sa_5"].tolist() == [odd.removeprefix("\ufeff")]
    told = capsys.readouterr().out
    assert "3 without one left out" in told and "sa_6" in told and "1997 of 1999" in told


def test_every_faulty_annotation_is_named_at_once(tmp_path):
    lacking = dci_entry("sa_8.jpg")
    del lacking["extra_caption"]
    half = dci_entry("sa_9.jpg", "A \ud83d wall.")
    put(tmp_path, [*entries(), lacking, half, dci_entry("sa_1.jpg"), dci_entry("sa_10.jpg", 5)], TRAINED + TESTED)
    annotations = tmp_path / "results/downloads/dci/unpacked-dci.tar.gz/densely_captioned_images/annotations"
    (annotations / "x.json").write_text(json.dumps(dci_entry("../sa_11.jpg")))
    (annotations / "y.json").write_text('{"image": "sa_1')
    (annotations / "z.json").write_text("[]")
    message = refused(tmp_path, options={"counts": None})
    for part in ("lacks extra_caption", "half a character", "'sa_1': 00002.json and 00008.json", "is no text"):
        assert part in message
    for part in ("x.json: image '../sa_11.jpg' is no plain", "y.json: no valid JSON", "z.json: no JSON object"):
        assert part in message


def test_an_archive_without_annotations_is_refused(tmp_path):
    put(tmp_path, [])
    for path in tmp_path.glob("results/downloads/dci/*/densely_captioned_images/annotations/*"):
        path.unlink()
    assert "has no annotations" in refused(tmp_path)
