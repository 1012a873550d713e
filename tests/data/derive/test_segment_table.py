"""The table of regions: sorted, whole, and every fault of it named."""

import pandas
import pytest
from world import manifest_row

from hnclip.data.derive.segment_table import SCHEMA, best, read_segments, read_segments_of, write_segments
from hnclip.data.manifest import read_manifest, write_manifest
from hnclip.store import write_rows


def row(caption=0, score=0.5, box=(0, 0, 4, 4), **more):
    left, top, right, bottom = box
    sides = {"left": left, "top": top, "right": right, "bottom": bottom}
    return {"id": f"i{caption}", "caption": caption, **sides, "start": 0, "end": 3, "score": score, **more}


def test_rows_are_sorted_and_the_best_are_the_first_of_each_caption(tmp_path):
    rows = [row(2, 0.1), row(0, 0.2), row(0, 0.7, (3, 0, 4, 4)), row(0, 0.7, (1, 2, 4, 4)), row(0, 0.7, (1, 1, 4, 4))]
    write_segments(tmp_path / "s.parquet", rows)
    frame = read_segments(tmp_path / "s.parquet")
    assert frame["caption"].tolist() == [0, 0, 0, 0, 2]
    assert frame["left"].tolist() == [1, 1, 3, 0, 0] and frame["top"].tolist() == [1, 2, 0, 0, 0]
    assert [str(kind) for kind in frame.dtypes[1:]] == ["int32"] * 7 + ["float32"]
    assert best(frame, 2)["top"].tolist() == [1, 2, 0]
    assert best(frame, 1)[["id", "top"]].to_numpy().tolist() == [["i0", 1], ["i2", 0]]


def test_a_split_without_regions_is_a_table_without_rows(tmp_path):
    write_segments(tmp_path / "s.parquet", [])
    frame = read_segments(tmp_path / "s.parquet")
    assert len(frame) == 0 and list(frame.columns) == SCHEMA.names and len(best(frame, 2)) == 0


FAULTS = {
    "the box is empty": {"box": (4, 0, 4, 4)},
    "the box leaves the image": {"box": (-1, 0, 4, 4)},
    "the sentence is empty": {"start": 3},
    "the score is not finite": {"score": float("nan")},
    "no such caption": {"caption": -1},
    "values are missing": {"id": None},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_impossible_rows_are_named(tmp_path, fault):
    with pytest.raises(ValueError, match=rf"s\.parquet was not written: .*{fault}: row 1"):
        write_segments(tmp_path / "s.parquet", [row(), row(**FAULTS[fault])])
    assert not list(tmp_path.iterdir())


def test_wrong_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match="missing or unknown columns: end, mask"):
        write_segments(tmp_path / "s.parquet", pandas.DataFrame([row(mask=1)]).drop(columns="end"))


def test_files_that_are_no_whole_tables_say_so(tmp_path):
    path = tmp_path / "s.parquet"
    with pytest.raises(FileNotFoundError, match="hnclip.data.derive.segments"):
        read_segments(path)
    path.write_bytes(b"PAR1 junk PAR1")
    with pytest.raises(ValueError, match=r"s\.parquet is damaged .*delete it"):
        read_segments(path)
    write_rows(path, [{"id": "a", "caption": 1}])
    with pytest.raises(ValueError, match="lacks the columns left, top, right, bottom, start, end, score"):
        read_segments(path)
    write_rows(path, [row(0, 0.1), row(0, 0.2)])
    with pytest.raises(ValueError, match="rows are not sorted"):
        read_segments(path)
    write_rows(path, [row(0, 0.1, start=5)])
    with pytest.raises(ValueError, match="the sentence is empty: row 0"):
        read_segments(path)


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("no such caption", {"caption": 9}),
        ("another image's caption", {"id": "other"}),
        ("the box leaves the image", {"box": (0, 0, 17, 4)}),
        ("the box leaves the image", {"box": (0, 0, 4, 17)}),
        ("the sentence leaves the caption", {"end": 7}),
    ],
)
def test_a_table_of_another_manifest_is_refused(tmp_path, fault, change):
    write_manifest(tmp_path / "m.parquet", [manifest_row("i0", "a.png", "A cat.", "test")])
    manifest = read_manifest(tmp_path / "m.parquet")
    write_segments(tmp_path / "s.parquet", [row(box=(0, 0, 16, 16), end=6)])
    assert len(read_segments_of(tmp_path / "s.parquet", manifest)) == 1
    write_segments(tmp_path / "s.parquet", [row(**change)])
    with pytest.raises(ValueError, match=f"belongs to another manifest.*{fault}: row 0"):
        read_segments_of(tmp_path / "s.parquet", manifest)
