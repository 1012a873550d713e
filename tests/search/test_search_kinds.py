"""The approximate kinds against the full comparison, and as vectors come and go."""

import numpy as np
import pytest
from search_stub import Stub, paint

from hnclip.search import approximate, build, open_index, remove
from hnclip.search.record import read_record
from hnclip.store import write_json

KINDS = ["ivf", "hnsw"]


@pytest.fixture(scope="module")
def vectors_ID():
    random = np.random.default_rng(0)
    rows = random.normal(size=(20, 16))[random.integers(0, 20, 600)] + 0.4 * random.normal(size=(600, 16))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def by_loops(queries_QD, vectors_ID, count):
    return [sorted(range(len(vectors_ID)), key=lambda row: -(vectors_ID[row] @ query))[:count] for query in queries_QD]


def test_the_full_comparison_is_that_of_the_definition(vectors_ID):
    cosines, rows = approximate.exact(vectors_ID[:5], vectors_ID, 7)
    assert rows.tolist() == by_loops(vectors_ID[:5], vectors_ID, 7)
    assert np.allclose(cosines, np.take_along_axis(vectors_ID[:5] @ vectors_ID.T, rows, 1), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_effort_nearly_all_is_found(kind, vectors_ID):
    ids_I = np.arange(600) * 3 + 5
    index = approximate.build(kind, vectors_ID, ids_I)
    effort, recall = approximate.tuned(index, kind, vectors_ID, ids_I)
    assert effort in approximate.EFFORTS[kind] and recall["pictures"] > 0.95 and recall["texts"] > 0.95
    found = approximate.near(index, kind, vectors_ID[:50], 10, 600, ids_I)
    true = by_loops(vectors_ID[:50], vectors_ID, 10)
    assert (
        np.mean([len(set(approximate.rows_of(a, ids_I)) & set(b)) / 10 for a, b in zip(found, true, strict=True)])
        > 0.95
    )


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_come_and_go(kind, vectors_ID):
    ids_I = np.arange(500)
    index = approximate.build(kind, vectors_ID[:500], ids_I)
    gone = np.arange(0, 100)
    approximate.remove(index, kind, gone)
    approximate.add(index, vectors_ID[500:], np.arange(500, 600))
    living = np.arange(100, 600)
    found = approximate.near(index, kind, vectors_ID, 5, 600, living)
    assert np.isin(found, living).all()
    assert (found[100:, 0] == living).mean() > 0.98
    assert approximate.outgrown(index, kind, 500) is False
    assert approximate.outgrown(index, kind, 40) is True


def test_a_share_is_not_whole_where_too_little_is_looked_at(vectors_ID):
    ids_I = np.arange(600)
    index = approximate.build("ivf", vectors_ID, ids_I)
    nearest = approximate.exact(vectors_ID[:99], vectors_ID, 10)
    shares = [approximate.recall(index, "ivf", vectors_ID[:99], vectors_ID, ids_I, n, nearest) for n in (1, 600)]
    assert shares[0] < 0.8 and shares[1] == 1


@pytest.mark.parametrize(
    "count, asked, had, kind",
    [
        (50_000, "auto", None, "flat"),
        (50_001, "auto", "flat", "ivf"),
        (30_000, "auto", "ivf", "ivf"),
        (25_000, "auto", "ivf", "flat"),
        (9, "hnsw", "flat", "hnsw"),
    ],
)
def test_the_kind_goes_by_size_unless_it_is_asked_for(count, asked, had, kind):
    assert approximate.kind_for(count, asked, had) == kind


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_of_files_in_another_kind(kind, tmp_path):
    for number in range(40):
        paint(tmp_path / "photos" / f"{number:02d}.png", (6 * number, 255 - 6 * number, 3 * number))
    stub, index = Stub(), tmp_path / "photos.index"
    build(stub, tmp_path / "photos")
    update = build("stub", tmp_path / "photos", kind=kind)  # made of the vectors that are there
    assert update.kind == kind and update.recall["at"] == 10 and update.embedded == 0
    for number in (3, 4, 5):
        (tmp_path / "photos" / f"{number:02d}.png").unlink()
    paint(tmp_path / "photos" / "new.png", (255, 255, 0))
    assert build(stub, tmp_path / "photos").kind == kind
    remove(index, [tmp_path / "photos" / "00.png"])
    found = open_index(index, stub)
    assert found.record["files"]["faiss"] == f"faiss-4.{kind}" and len(found) == 37
    assert found.search(tmp_path / "photos" / "new.png", 1)[0].path.endswith("new.png")
    hits = found.search("green", 40)
    assert len({hit.id for hit in hits}) == len(hits) == 37
    assert read_record(index)["next_id"] == 41
    assert build(stub, tmp_path / "photos", kind="flat").kind == "flat" and not list(index.glob("faiss-*"))


@pytest.mark.parametrize("part", ["vectors", "files", "faiss"])
def test_a_file_that_something_else_changed_is_told(tmp_path, part):
    for name in ("red", "green"):
        paint(tmp_path / "photos" / f"{name}.png", name)
    build(Stub(), tmp_path / "photos", kind="ivf")
    index = tmp_path / "photos.index"
    path = index / read_record(index)["files"][part]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # as long as before
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"{path.name} is damaged .its checksum"):
        open_index(index, Stub()).search("red")
    paint(tmp_path / "photos" / "blue.png", "blue")
    with pytest.raises(ValueError, match=f"{path.name} is damaged .its checksum"):
        build(Stub(), tmp_path / "photos")


def test_an_index_without_checksums_is_searched_and_gets_them(tmp_path):
    paint(tmp_path / "photos" / "red.png", "red")
    build(Stub(), tmp_path / "photos")
    index = tmp_path / "photos.index"
    record = read_record(index)
    assert set(record.pop("crc32")) == {"vectors", "files"}
    write_json(index / "index.json", record)
    assert open_index(index, Stub()).search("red", 1)[0].path.endswith("red.png")
    paint(tmp_path / "photos" / "blue.png", "blue")
    build(Stub(), tmp_path / "photos")
    assert set(read_record(index)["crc32"]) == {"vectors", "files"}


def test_a_damaged_file_is_named_and_made_anew(tmp_path):
    paint(tmp_path / "photos" / "a.png", "red")
    build(Stub(), tmp_path / "photos", kind="ivf")
    index = tmp_path / "photos.index"
    (index / "faiss-1.ivf").write_bytes(b"no")
    with pytest.raises(ValueError, match="faiss-1.ivf is damaged"):
        open_index(index, Stub()).search("red")
    (index / "faiss-1.ivf").unlink()
    with pytest.raises(FileNotFoundError, match="index again"):
        open_index(index, Stub()).search("red")
    assert build("stub", tmp_path / "photos").unchanged == 1  # the way out that the messages say
    assert open_index(index, Stub()).search("red", 1)[0].path.endswith("a.png")
    (index / "vectors-1.f32").write_bytes(b"no")
    with pytest.raises(ValueError, match="vectors-1.f32 is damaged"):
        open_index(index)
    with pytest.raises(ValueError, match="vectors-1.f32 is damaged"):
        build("stub", tmp_path / "photos")  # which would find nothing changed
    (index / "vectors-1.f32").unlink()
    with pytest.raises(FileNotFoundError, match="delete the index and make it again"):
        open_index(index)


def test_a_model_that_moved_is_remembered_where_it_is_now(tmp_path):
    paint(tmp_path / "photos" / "a.png", "red")
    build(Stub("old"), tmp_path / "photos")
    assert build(Stub("new"), tmp_path / "photos").unchanged == 1
    assert open_index(tmp_path / "photos.index").record["model"]["name"] == "new"
