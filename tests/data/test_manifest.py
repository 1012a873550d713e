import pandas
import pytest

from hnclip.data.manifest import SCHEMA, image_path, images, read_manifest, write_manifest
from hnclip.store import write_rows


def row(name="a", caption="A cat. It sits.", image=None, **other):
    return {
        "id": name,
        "image": image or f"images/{name}.png",
        "caption": caption,
        "sentences": ["A cat.", "It sits."],
        "boxes": [None, [1, 2, 3, 4]],
        "family": name,
        "split": "test",
        "width": 9,
        "height": 8,
        "sha256": "0" * 64,
        **other,
    }


def test_what_is_written_is_read(tmp_path):
    rows = [row("a", "None"), row("a", "NA"), row("ü b", "null")]
    write_manifest(tmp_path / "test.parquet", rows)
    frame = read_manifest(tmp_path / "test.parquet")
    assert list(frame.columns) == SCHEMA.names
    assert frame.to_dict("records") == rows
    assert frame.caption[1] == "NA" and frame.boxes[0] == [None, [1, 2, 3, 4]]


def test_images_are_first_rows_with_their_places():
    frame = pandas.DataFrame({"id": ["b", "b", "a"], "caption": ["1", "2", "3"]})
    found = images(frame)
    assert list(found.id) == ["b", "a"] and list(found.index) == [0, 2]


def test_image_path_is_from_the_manifest_or_absolute(tmp_path):
    assert image_path(tmp_path / "test.parquet", "images/a.png") == tmp_path / "images/a.png"
    assert str(image_path(tmp_path / "test.parquet", "/x/a.png")) == "/x/a.png"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no rows"),
        ([row("a"), row("b"), row("a")], "not adjacent: a"),
        ([row("a"), row("a", image="other.png")], "several images: a"),
        ([row("a", boxes=[None])], "differ in number: a"),
        ([row("a", " \n"), row("b"), row("c", "")], "caption is empty: a, c"),
        ([{"id": "a"}], "missing or unknown columns: .*caption"),
    ],
)
def test_wrong_rows_are_refused_and_nothing_is_written(tmp_path, rows, said):
    with pytest.raises(ValueError, match=said):
        write_manifest(tmp_path / "test.parquet", rows)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_manifest_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no manifest at .*test.parquet: prepare"):
        read_manifest(tmp_path / "test.parquet")
    (tmp_path / "test.parquet").write_text("text")
    with pytest.raises(ValueError, match="is no Parquet file"):
        read_manifest(tmp_path / "test.parquet")
    write_rows(tmp_path / "test.parquet", [{"id": "a", "image": "a.png"}])
    with pytest.raises(ValueError, match="lacks the columns caption, sentences"):
        read_manifest(tmp_path / "test.parquet")


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_a_damaged_manifest_names_its_file(tmp_path, damage):
    path = tmp_path / "test.parquet"
    write_manifest(path, [row(f"image {number}") for number in range(300)])
    whole = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": whole[:-20], "flipped": b"PAR1" + b"\xff" * 300 + whole[304:]}[damage])
    with pytest.raises(ValueError, match=r"test\.parquet is (damaged|no Parquet file) .*prepare the benchmark again"):
        read_manifest(path)


def test_columns_of_another_type_are_named_with_the_file(tmp_path):
    write_rows(tmp_path / "test.parquet", [row(width="wide")])
    with pytest.raises(ValueError, match=r"test\.parquet is damaged \(.*wide"):
        read_manifest(tmp_path / "test.parquet")
