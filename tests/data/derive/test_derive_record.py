import pytest

from hnclip.data.derive.record import write_record
from hnclip.store import read_json


def test_a_record_holds_the_seconds_and_the_counts(tmp_path):
    write_record(tmp_path / "a" / "r.json", 1.23456, captions=3, words_mean=1.5)
    assert read_json(tmp_path / "a" / "r.json") == {"seconds": 1.235, "captions": 3, "words_mean": 1.5}


def test_a_count_that_is_no_number_leaves_no_file(tmp_path):
    with pytest.raises(ValueError):
        write_record(tmp_path / "r.json", 1.0, mean=float("nan"))
    assert not list(tmp_path.iterdir())
