"""Images within the data's own files are looked at and read there; only those that are asked for become files."""

from hashlib import sha256

import numpy
import pytest
from formats import arrow_table, mine, parquet_with_images, put_images, webdataset_braces, webdataset_one
from pyarrow import parquet

from hnclip.data.captions_of import Source, read_data
from hnclip.data.folder_checks import NO_IMAGE
from hnclip.doctor.captions import read
from hnclip.doctor.towers import clip_images
from hnclip.encoder import Encoder

WRITERS = [webdataset_one, webdataset_braces, parquet_with_images]


def sources(tmp_path, writer, data):
    return Source(captions=writer(tmp_path, data)["captions"])


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_but_what_is_asked_for(tmp_path, writer):
    source = sources(tmp_path, writer, mine())
    unpacked = read_data(source, tmp_path / "whole")
    found = read(source, tmp_path / "few")
    assert not (tmp_path / "few").exists()
    assert [row.id for row in found.rows] == [row.id for row in unpacked.rows]
    assert sorted(found.facts.values()) == sorted(unpacked.facts.values()) and len(found.facts) == 6
    found.bring([2, 4, 2])
    paths = {found.rows[row].path for row in (2, 4)}
    assert set((tmp_path / "few").iterdir()) == paths
    assert {sha256(path.read_bytes()).hexdigest() for path in paths} == {found.facts[path][0] for path in paths}


@pytest.mark.parametrize("writer", WRITERS)
def test_embeddings_are_those_of_the_unpacked_files(tmp_path, writer):
    source = sources(tmp_path, writer, mine())
    encoder = Encoder("tiny")
    unpacked = {row.id: row.path for row in read_data(source, tmp_path / "whole").rows}
    found = read(source, tmp_path / "few")
    paths = {row.id: row.path for row in reversed(found.rows)}
    image_ID = clip_images(encoder, list(paths.values()), found.held, lambda *_: None)
    expected_ID = clip_images(encoder, [unpacked[name] for name in paths], None, lambda *_: None)
    assert numpy.abs(image_ID - expected_ID).max() < 1e-6 and not (tmp_path / "few").exists()


def test_images_of_the_same_bytes_have_the_same_embedding(tmp_path):
    data = mine()
    data.images["4.png"] = data.images["1.png"]
    found = read(sources(tmp_path, webdataset_one, data), tmp_path / "few")
    paths = list({row.id: row.path for row in found.rows}.values())
    assert len(paths) == 6 and paths[1] == paths[4]
    image_ID = clip_images(Encoder("tiny"), paths, found.held, lambda *_: None)
    assert numpy.abs(numpy.linalg.norm(image_ID, axis=1) - 1).max() < 1e-6
    assert (image_ID[1] == image_ID[4]).all() and not numpy.allclose(image_ID[1], image_ID[0], atol=1e-3)


def test_images_beside_a_table_that_holds_others_are_read_from_their_files(tmp_path):
    data = mine()
    table = arrow_table(data).append_column("photo", [list(data.images)])
    parquet.write_table(table, tmp_path / "one.parquet")
    put_images(tmp_path / "photos", data)
    source = Source(captions=str(tmp_path / "one.parquet"), images=str(tmp_path / "photos"), image_column="photo")
    found = read(source, tmp_path / "few")
    paths = list({row.id: row.path for row in found.rows}.values())
    assert paths == [tmp_path / "photos" / name for name in data.images]
    image_ID = clip_images(Encoder("tiny"), paths, found.held, lambda *_: None)
    assert (image_ID == Encoder("tiny").files(paths)).all()


def test_an_image_that_cannot_be_read_is_named_as_the_data_names_it(tmp_path):
    data = mine()
    data.images["1.png"], data.images["3.png"] = b"no picture", None
    found = read(sources(tmp_path, webdataset_one, data), tmp_path / "few")
    (unreadable, missing) = sorted(found.problems.kinds()[NO_IMAGE], key=lambda item: "no image" in item)
    assert "1.png: cannot be read as an image" in unreadable and "no image has this key (3.jpg" in missing
    assert len(found.facts) == 4
