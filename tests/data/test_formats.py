"""The same images and captions give the same manifest, and the same fault the same message, in every format."""

from hashlib import sha256

import pyarrow
import pytest
from formats import ONE_CAPTION, OPTIONS, WRITERS, mine
from pyarrow import parquet

from hnclip.data.captions_of import Source, read_data
from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import prepare
from hnclip.data.rows import NO_IMAGE

ALL = {"split_hash": {"all": 100}}
EVERY = pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)


def written(writer, root, data):
    return {**writer(root, data), **OPTIONS.get(writer, {})}


def read(root, options, **how):
    return read_data(Source(**options), root / "out" / "images", **how)


@EVERY
def test_every_format_gives_the_same_manifest(tmp_path, writer):
    data = mine()
    prepare({"name": "mine", "kind": "folder", "options": {**written(writer, tmp_path, data), **ALL}}, tmp_path / "out")
    found = read_manifest(tmp_path / "out" / "all.parquet")
    assert list(zip(found.id, found.caption, strict=True)) == pairs(data, writer)
    hashes = {name: sha256(image).hexdigest() for name, image in data.images.items()}
    assert hashes == dict(zip(found.id, found.sha256, strict=True))


def pairs(data, writer):
    """What a format can hold of the captions: a text file has one."""
    most = 1 if writer in ONE_CAPTION else None
    return [(name, text) for name, texts in data.captions.items() for text in texts[:most]]


@EVERY
def test_every_fault_has_the_same_message_in_every_format(tmp_path, writer):
    data = mine()
    data.images["1.png"] = None
    data.images["3.png"] = data.images["3.png"][:60]
    data.captions["4.png"] = [" "]
    found = read(tmp_path, written(writer, tmp_path, data))
    lines = found.problems.lines()
    assert f"{NO_IMAGE}: 2" in lines
    empty = [line for line in lines if line.startswith("empty ")]
    assert len(empty) == 1 and empty[0].endswith("(fill them in or remove the rows): 1")
    assert len([line for line in lines if not line.startswith(" ")]) == 2, lines
    assert any("cannot be read as an image" in line for line in lines)
    assert {row.id for row in found.rows if row.path in found.facts} == {"0.png", "2.png", "5.png"}


def test_columns_of_one_name_are_refused(tmp_path):
    table = pyarrow.table([["0.png"], ["a b"], ["x"], ["y"], ["z"]], names=["image", "caption", "caption", "b", "b"])
    parquet.write_table(table, tmp_path / "mine.parquet")
    with pytest.raises(ValueError, match=r"mine.parquet: several columns have the same name .*: 'b', 'caption'"):
        read_data(Source(str(tmp_path / "mine.parquet")), tmp_path / "unpacked")


@EVERY
def test_captions_alone_need_no_image(tmp_path, writer):
    data = mine()
    options = written(writer, tmp_path, data)
    found = read(tmp_path, options, images=False)
    assert found.problems.lines() == [] and found.facts == {} and not (tmp_path / "out").exists()
    assert [row.caption for row in found.rows] == [text for _, text in pairs(data, writer)]
