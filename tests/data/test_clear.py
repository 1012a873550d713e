"""What a message has named is there after the folder is cleared."""

from hnclip.data.prepared_rows import clear, tell
from hnclip.data.problems import Problems


def test_the_named_list_of_warnings_stays_and_nothing_else(tmp_path, capsys):
    (tmp_path / "work").mkdir()
    (tmp_path / "work/test.parquet").touch()
    found = Problems()
    found.add("captions that several images share", "2 images: 'A frog.'")
    tell(found, "worth a look:", tmp_path / "work/warnings.txt")
    clear(tmp_path / "work")
    assert f"the whole list is in {tmp_path / 'work/warnings.txt'}" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["warnings.txt"]
    assert "A frog." in (tmp_path / "work/warnings.txt").read_text()


def test_without_warnings_nothing_stays(tmp_path):
    (tmp_path / "work").mkdir()
    clear(tmp_path / "work")
    assert not (tmp_path / "work").exists()
