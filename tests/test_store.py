"""Files are whole or absent."""

import errno
import os

import pandas as pd
import pytest

from hnclip.store import read_json, remove_unfinished, whole_folder, write_rows, write_text, write_whole


def test_a_failed_write_leaves_the_old_file_and_no_scraps(tmp_path):
    path = tmp_path / "a b.txt"
    write_whole(path, lambda part: part.write_text("old"))

    def fail(part):
        part.write_text("half")
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        write_whole(path, fail)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_what_is_no_plain_file_stays_and_a_link_leads_to_its_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    with pytest.raises(OSError, match="no plain file"):
        write_text(tmp_path / "pipe", "new")
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path, "new")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old", "pipe"]


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "check[1].pt"
    kept = [path, tmp_path / ".other.pt.node.7.part", tmp_path / ".check1.pt.node.7.part"]
    for file in [*kept, tmp_path / ".check[1].pt.node.7.part", tmp_path / ".check[1].pt.other.node.123.part"]:
        file.write_bytes(b"half")
    (tmp_path / ".check[1].pt.node.8.part").mkdir()
    (tmp_path / ".check[1].pt.node.8.part/a").write_bytes(b"half")
    remove_unfinished(path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "above" / "found"
    with pytest.raises(RuntimeError), whole_folder(folder) as part:
        (part / "a").write_text("half")
        raise RuntimeError("stopped")
    assert list(folder.parent.iterdir()) == []
    with whole_folder(folder) as part:
        (part / "a").write_text("whole")
        assert not folder.exists()
    assert [path.read_text() for path in folder.parent.rglob("*") if path.is_file()] == ["whole"]


def test_a_folder_that_holds_something_stays(tmp_path):
    (tmp_path / "found").mkdir()
    (tmp_path / "found/mine").write_text("mine")
    with pytest.raises(OSError, match="not empty"), whole_folder(tmp_path / "found") as part:
        (part / "a").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["found", "mine"]


def test_rows_may_have_different_keys(tmp_path):
    write_rows(tmp_path / "rows.parquet", [{"a": 1}, {"b": "x"}, {"a": 3, "b": "y"}])
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert rows["a"].dropna().to_list() == [1, 3] and rows["b"].dropna().to_list() == ["x", "y"]


@pytest.mark.parametrize("content", [b"", b'{"a": ', b'{"a": "\xff"}'])
def test_broken_json_names_its_file(tmp_path, content):
    (tmp_path / "run é.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"run é\.json is no valid JSON \(.+\); correct it, or delete it and run"):
        read_json(tmp_path / "run é.json")


def test_a_full_disk_names_the_file_that_was_to_be_written(tmp_path):
    def full(part):
        raise OSError(errno.ENOSPC, "no room, says a library")

    with pytest.raises(OSError, match=r"No space left on device: '.*/rows\.parquet'"):
        write_whole(tmp_path / "rows.parquet", full)
