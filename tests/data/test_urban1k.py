"""Urban-1K from archives of the published layout: Urban1k/image/N.jpg and Urban1k/caption/N.txt."""

import json

import numpy as np
import pytest
from PIL import Image

from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import prepare


def write_pair(root, number, caption):
    (root / "image").mkdir(parents=True, exist_ok=True)
    (root / "caption").mkdir(exist_ok=True)
    pixels = np.random.default_rng(number).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(root / "image" / f"{number}.jpg")
    (root / "caption" / f"{number}.txt").write_bytes(caption if isinstance(caption, bytes) else caption.encode())


@pytest.fixture
def unpacked(tmp_path):
    """The archive's folder as fetched and unpacked, with pairs 1, 2, 3, 10 and 592."""
    downloads = tmp_path / "results" / "downloads" / "urban1k"
    for number in (10, 592, 2, 1, 3):
        write_pair(downloads / "Urban1k" / "Urban1k", number, f"Street {number} is long. It has trees.")
    (downloads / "Urban1k.zip").write_bytes(b"PK")
    entry = {"path": "Urban1k.zip", "bytes": 2, "sha256": "", "from": "", "unpacked": "Urban1k"}
    (downloads / "fetched.json").write_text(json.dumps({"source": "urban1k", "files": {"Urban1k.zip": entry}}))
    return downloads / "Urban1k" / "Urban1k"


def made(unpacked, **options):
    folder = unpacked.parents[3] / "data" / "urban1k"
    prepare({"name": "urban1k", "kind": "urban1k", "options": options, "splits": ["test"]}, folder)
    return read_manifest(folder / "test.parquet")


def refused(unpacked, **options):
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        made(unpacked, **options)
    assert not list(unpacked.parents[3].glob("data/urban1k/*.parquet"))
    return str(caught.value)


def test_pairs_are_made_by_number_in_its_order(unpacked):
    found = made(unpacked, counts={"test": 5})
    assert found.id.tolist() == ["1", "2", "3", "10", "592"]
    assert found.caption.tolist() == [f"Street {number} is long. It has trees." for number in found.id]
    assert found.image.tolist() == [str(unpacked / "image" / f"{number}.jpg") for number in found.id]
    assert found.sentences[0] == ["Street 1 is long.", "It has trees."]
    assert (found.width[0], found.height[0]) == (8, 6) and set(found.split) == {"test"}


@pytest.mark.parametrize(
    "written, read",
    [
        (b"First line.\nSecond line.\n", "First line.\nSecond line."),
        (b"First.\r\n\r\nSecond.\r\n", "First.\r\n\r\nSecond."),
        (b"\xef\xbb\xbfA caf\xc3\xa9.\n", "A café."),
        ("a\u00a0b".encode(), "a\u00a0b"),
        (b"  two  spaces \n", "two  spaces"),
    ],
)
def test_a_caption_is_its_whole_file(unpacked, written, read):
    (unpacked / "caption" / "2.txt").write_bytes(written)
    assert made(unpacked, counts=None).caption[1] == read


def test_the_count_must_be_the_published_one(unpacked):
    message = refused(unpacked)
    assert "test: 5 images instead of 1,000" in message and "all 1,000 pairs" in message
    assert "test: 5 images instead of 6" in refused(unpacked, counts={"test": 6})
    assert "unknown split 'tset'" in refused(unpacked, counts={"tset": 6})
    assert len(made(unpacked, counts={"test": 5})) == 5


def test_a_thousand_pairs_are_the_published_count(unpacked, monkeypatch):
    for number in range(1, 1001):
        if not (unpacked / "image" / f"{number}.jpg").exists():
            write_pair(unpacked, number, f"Street {number}.")
    assert made(unpacked).id.tolist() == [str(number) for number in range(1, 1001)]


@pytest.mark.parametrize("written", [b"", b" \n\n", b"\xef\xbb\xbf\r\n", "\u200b".encode()])
def test_an_empty_caption_is_refused_until_it_is_left_out(unpacked, written):
    (unpacked / "caption" / "592.txt").write_bytes(written)
    message = refused(unpacked, counts={"test": 5})
    assert "empty captions" in message and f"{unpacked / 'caption' / '592.txt'}" in message
    assert "`drop: [592]`" in message
    assert made(unpacked, counts={"test": 5}, drop=[592]).id.tolist() == ["1", "2", "3", "10"]


def test_missing_partners_are_all_named_until_they_are_left_out(unpacked):
    (unpacked / "caption" / "3.txt").unlink()
    (unpacked / "image" / "10.jpg").unlink()
    (unpacked / "image" / "2.jpg").unlink()
    message = refused(unpacked, counts={"test": 5})
    assert "numbers without a caption" in message and "numbers without a picture" in message
    assert "option `drop`): 1\n    3" in message and "option `drop`): 2\n    2\n    10" in message
    assert made(unpacked, counts={"test": 5}, drop=[2, 3, 10]).id.tolist() == ["1", "592"]


def test_numbers_to_leave_out_must_be_there(unpacked):
    message = refused(unpacked, counts={"test": 5}, drop=[592, 593, 0])
    assert "the archive does not have (remove them): 2\n    0\n    593" in message


def test_foreign_files_are_named_and_hidden_ones_passed_over(unpacked):
    (unpacked / "image" / ".DS_Store").write_bytes(b"x")
    (unpacked / "image" / "._1.jpg").write_bytes(b"x")
    (unpacked.parent / "__MACOSX").mkdir()
    assert len(made(unpacked, counts={"test": 5})) == 5
    (unpacked.parents[3] / "data" / "urban1k" / "test.parquet").unlink()
    (unpacked / "image" / "1 (copy).jpg").write_bytes(b"x")
    (unpacked / "caption" / "01.txt").write_text("Another.")
    (unpacked / "caption" / "2.md").write_text("Another.")
    message = refused(unpacked, counts={"test": 5})
    assert "not named NUMBER.jpg" in message and "1 (copy).jpg" in message and "2.md" in message
    assert f"{unpacked / 'caption' / '01.txt'} and {unpacked / 'caption' / '1.txt'}" in message


def test_broken_files_are_named(unpacked):
    (unpacked / "image" / "1.jpg").write_bytes((unpacked / "image" / "1.jpg").read_bytes()[:80])
    (unpacked / "image" / "2.jpg").write_bytes(b"")
    (unpacked / "caption" / "3.txt").write_bytes(b"caf\xe9")
    message = refused(unpacked, counts={"test": 5})
    assert "1.jpg: cannot be read" in message and "2.jpg: the file is empty" in message
    assert "not UTF-8" in message and "3.txt: " in message and "at byte 3" in message


def test_another_layout_says_what_was_found(unpacked):
    unpacked.joinpath("caption").rename(unpacked / "captions")
    message = refused(unpacked)
    assert "is no unpacked Urban1k.zip" in message and "(it has Urban1k)" in message


def test_the_older_archive_has_another_first_folder(unpacked):
    moved = unpacked.rename(unpacked.with_name("Urban-1k"))
    assert len(made(moved, counts=None)) == 5
