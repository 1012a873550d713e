"""An index follows its folder: what is new, changed, moved or gone; what stops it leaves it as it was."""

import os

import numpy as np
import pytest
from search_stub import Stub, paint, unit

from hnclip.search import build, open_index, remove
from hnclip.search.record import read_record
from hnclip.search.table import read_rows
from hnclip.search.unfinished import PART


@pytest.fixture
def photos(tmp_path):
    """A folder of four pictures, one in a folder of its own, and a file that is none."""
    folder = tmp_path / "photos"
    for name, colour in (("r.png", "red"), ("g.jpg", "green"), ("b.png", "blue"), ("in/w.png", "white")):
        paint(folder / name, colour)
    (folder / "notes.txt").write_text("no picture")
    (folder / "phone.HEIC").write_text("a picture, but not one that is opened")
    paint(folder / ".hidden.png", "red")
    return folder


def paths(index) -> dict[str, int]:
    """Numbers of an index's files by their names."""
    record = read_record(index)
    return {row.path: row.id for row in read_rows(index / record["files"]["files"])}


def files(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_index_of_a_folder_lies_beside_it(photos):
    update = build(Stub(), photos)
    index = photos.parent / "photos.index"
    assert update.index == str(index) and (update.images, update.added, update.embedded) == (4, 4, 4)
    assert update.other_files == 1 and update.closed_formats == {".heic": 1}
    assert paths(index) == {"photos/b.png": 0, "photos/g.jpg": 1, "photos/r.png": 2, "photos/in/w.png": 3}
    assert files(index) == ["files-1.parquet", "index.json", "vectors-1.f32"]
    assert read_record(index)["model"]["identity"] == "a" * 64


def test_the_folder_of_the_images_in_its_place_is_told_of_the_index(photos):
    with pytest.raises(FileNotFoundError, match="photos is no index.*: make one by `hnclip index"):
        open_index(photos)
    build(Stub(), photos)
    with pytest.raises(FileNotFoundError, match=rf"photos is no index.*; its index is {photos}\.index$"):
        open_index(photos)


def test_the_same_again_embeds_nothing_and_opens_no_model(photos):
    build(Stub(), photos)
    before = (photos.parent / "photos.index" / "index.json").stat().st_mtime_ns
    update = build("stub", photos)  # the name alone: it could not be opened
    assert (update.unchanged, update.embedded, update.added + update.changed + update.removed) == (4, 0, 0)
    assert (photos.parent / "photos.index" / "index.json").stat().st_mtime_ns == before


def test_new_changed_touched_moved_and_vanished_files(photos):
    index, stub = photos.parent / "photos.index", Stub()
    build(stub, photos)
    before, stub.seen = paths(index), 0
    paint(photos / "new.png", (250, 250, 0))
    paint(photos / "r.png", (0, 200, 200), size=(20, 20))
    os.utime(photos / "g.jpg", ns=(1, 1))
    (photos / "in" / "w.png").rename(photos / "moved.png")
    (photos / "b.png").unlink()
    update = build(stub, photos)
    assert (update.added, update.changed, update.removed, update.unchanged) == (2, 1, 2, 1)
    assert stub.seen == update.embedded == 2  # the moved picture was known, the touched one unchanged
    now = paths(index)
    assert now["photos/g.jpg"] == before["photos/g.jpg"] and min(set(now.values()) - set(before.values())) == 4
    found = open_index(index, stub)
    assert [hit.path for hit in found.search(photos / "r.png", 1)] == [str(photos / "r.png")]
    assert found.search("white", 1)[0].path == str(photos / "moved.png")
    assert files(index) == ["files-2.parquet", "index.json", "vectors-2.f32"]


def test_a_picture_that_is_there_twice_is_embedded_once(photos):
    (photos / "again.png").write_bytes((photos / "r.png").read_bytes())
    update = build(Stub(), photos)
    assert (update.images, update.embedded) == (5, 4)


def test_other_folders_stay_and_inner_ones_may_be_left_out(photos):
    stub, more = Stub(), photos.parent / "more"
    paint(more / "m.png", (9, 99, 9))
    index = photos.parent / "all"
    assert build(stub, photos, index, recursive=False).images == 3
    assert build(stub, [more, photos / "in" / "w.png"], index).images == 5
    update = build(stub, photos, index, recursive=False)
    assert (update.images, update.removed) == (5, 0)


def test_unreadable_images_are_all_named_and_the_index_is_as_it_was(photos):
    stub, index = Stub(), photos.parent / "photos.index"
    build(stub, photos)
    (photos / "bad.jpg").write_bytes(b"\xff\xd8\xff no")
    (photos / "empty.png").write_bytes(b"")
    (photos / "link.png").symlink_to(photos / "gone.png")
    (photos / "loop.png").symlink_to("loop.png")
    paint(photos / "new.png", (1, 2, 200))
    with pytest.raises(ValueError, match=r"(?s)4 of 9 images.*link\.png.*loop\.png.*bad\.jpg.*empty\.png"):
        build(stub, photos)
    assert read_record(index)["images"] == 4
    stub.seen = 0
    update = build(stub, photos, skip_unreadable=True)
    assert len(update.skipped) == 4 and update.added == 1 and stub.seen == 0  # the new one was kept from before


def test_a_stopped_update_goes_on_where_it_was(photos, monkeypatch):
    index = photos.parent / "photos.index"
    stub = Stub()
    monkeypatch.setattr(Stub, "batch", 1)

    def stop(done, total):
        if stub.seen == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(stub, photos, tell=stop)
    with pytest.raises(FileNotFoundError, match="not finished"):
        open_index(index)
    again = Stub()
    assert build(again, photos).images == 4 and again.seen == 1
    assert files(index) == ["files-1.parquet", "index.json", "vectors-1.f32"] and PART > 3
    expected = unit([(0, 0, 255), (0, 255, 1), (255, 0, 0), (255, 255, 255)])
    vectors = np.fromfile(index / "vectors-1.f32", np.float32).reshape(4, 4)
    assert np.allclose(vectors, expected, atol=0.01)


def test_what_another_model_left_unfinished_is_not_used(photos, monkeypatch):
    monkeypatch.setattr(Stub, "batch", 1)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(Stub(), photos, tell=lambda done, total: done and stop(done, total))
    other = Stub("other", "b" * 64)
    assert build(other, photos).embedded == other.seen == 4


def test_another_model_is_refused_with_both_names(photos):
    build(Stub(), photos)
    paint(photos / "new.png", (1, 2, 3))
    with pytest.raises(ValueError, match="made with stub .*aaaa.*this is other .*bbbb"):
        build(Stub("other", "b" * 64), photos)
    with pytest.raises(ValueError, match="made with stub .*the same name, but its weights"):
        open_index(photos.parent / "photos.index", Stub("stub", "b" * 64)).search("red")


def test_images_are_taken_out(photos):
    index = photos.parent / "photos.index"
    build(Stub(), photos)
    with pytest.raises(ValueError, match=r"not in (?s:.*)nothing\.png"):
        remove(index, [photos / "r.png", photos / "nothing.png"])
    update = remove(index, [photos / "r.png", photos / "in"])
    assert (update.images, update.removed) == (2, 2) and set(paths(index)) == {"photos/b.png", "photos/g.jpg"}
    assert build(Stub(), photos).added == 2  # they are in the folder still
    with pytest.raises(ValueError, match="delete the folder"):
        remove(index, [photos])


@pytest.mark.parametrize("written", ["[]", '{"format": "hnclip-index-1"}', '{"format": "hnclip-index-1", "files": {}}'])
def test_a_damaged_record_is_told(photos, written):
    index = photos.with_name("photos.index")
    build(Stub(), photos)
    (index / "index.json").write_text(written)
    for command in (lambda: open_index(index), lambda: build(Stub(), photos), lambda: remove(index, [photos])):
        with pytest.raises(ValueError, match=r"index\.json is damaged .*make it again"):
            command()


def test_places_that_cannot_be_indexed(photos, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        build(Stub(), tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no images in"):
        build(Stub(), tmp_path / "none")
    with pytest.raises(ValueError, match="holds other things"):
        build(Stub(), photos, photos)
    with pytest.raises(ValueError, match="auto, flat, ivf, hnsw"):
        build(Stub(), photos, kind="tree")


def test_a_folder_that_became_empty_does_not_empty_its_index(photos):
    build(Stub(), photos)
    for path in photos.rglob("*.*"):
        path.unlink()
    with pytest.raises(ValueError, match="where the index has 4; to take them out, use --remove"):
        build(Stub(), photos)
    assert read_record(photos.parent / "photos.index")["images"] == 4


def test_an_index_moves_with_its_images(photos, tmp_path):
    build(Stub(), photos)
    (tmp_path / "away").mkdir()
    for name in ("photos", "photos.index"):
        (tmp_path / name).rename(tmp_path / "away" / name)
    found = open_index(tmp_path / "away" / "photos.index", Stub()).search("blue", 1)[0]
    assert found.path == str(tmp_path / "away" / "photos" / "b.png") and not found.missing
