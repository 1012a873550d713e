"""Regions found by several jobs: joined, they are the table of a single job."""

import json
import subprocess
import sys

import pytest
from regions_world import entry, make_scenes, segmented

from hnclip.data.derive import join_segments, segments
from hnclip.data.derive.entries import SegmentsEntry
from hnclip.data.derive.segments import write
from hnclip.options import from_dict
from hnclip.store import read_json


def in_shards(manifest, shards, kind, **options):
    """The shards' tables, each with its record."""
    paths = [manifest.parent / f"{number}-of-{shards}.parquet" for number in range(1, shards + 1)]
    for number, path in enumerate(paths, 1):
        write(manifest, entry(kind, **options), path, path.with_suffix(".json"), (number, shards))
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["given", "felzenszwalb"])
def test_joined_shards_are_the_table_of_a_single_job(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(segments, "IMAGES", 2)
    manifest = make_scenes(tmp_path, 7, captions=2)
    options = {} if kind == "given" else {"scales": [200]}
    whole = segmented(manifest, kind, **options)
    expected = read_json(whole.with_suffix(".json"))
    for shards in (1, 3, 5):
        paths = in_shards(manifest, shards, kind, **options)
        records = [read_json(path.with_suffix(".json")) for path in paths]
        out = tmp_path / "joined.parquet"
        join_segments.write(manifest, paths, out, out.with_suffix(".json"))
        assert out.read_bytes() == whole.read_bytes()
        joined = read_json(out.with_suffix(".json"))
        assert joined.pop("seconds") == pytest.approx(sum(record["seconds"] for record in records), abs=1e-3)
        assert joined == {key: value for key, value in expected.items() if key != "seconds"}
    assert [record["images"] for record in records] == [2, 2, 2, 1, 0]


def test_shards_that_do_not_make_a_whole_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "IMAGES", 1)
    manifest = make_scenes(tmp_path, 4)
    first, second = in_shards(manifest, 2, "given")
    out = (tmp_path / "joined.parquet", tmp_path / "joined.json")
    for given in ([first], [first, first]):
        with pytest.raises(ValueError, match=r"each once; these are .*1-of-2.parquet \(1 of 2\)"):
            join_segments.write(manifest, given, *out)
    make_scenes(tmp_path, 5)
    with pytest.raises(ValueError, match="has 5 captions, its shards 4; they belong to another manifest"):
        join_segments.write(manifest, [first, second], *out)
    with pytest.raises(ValueError, match="with K from 1 to N, got 3 of 2"):
        write(manifest, entry("given"), *out, (3, 2))
    assert not any(path.exists() for path in out)


@pytest.mark.slow
def test_the_commands_of_shards_say_the_same(tmp_path):
    manifest = make_scenes(tmp_path, 2)
    expected = segmented(manifest).read_bytes()
    (tmp_path / "entry.json").write_text(json.dumps(entry("given")))
    module = [sys.executable, "-m", "hnclip.data.derive.segments", "--shard", "1", "1"]
    subprocess.run(
        [*module, manifest, tmp_path / "entry.json", tmp_path / "1.parquet", tmp_path / "1.json"], check=True
    )
    out = [tmp_path / "out.parquet", tmp_path / "out.json"]
    command = [sys.executable, "-m", "hnclip.data.derive.join_segments", manifest, tmp_path / "1.parquet", *out]
    subprocess.run(command, check=True)
    assert out[0].read_bytes() == expected and read_json(out[1])["rows"] == 6


def test_wrong_numbers_of_shards_are_refused():
    plain = {"kind": "given", "backbone": "tiny"}
    assert from_dict(SegmentsEntry, plain, "x").shards == 1
    with pytest.raises(ValueError, match="shards must be at least 1, got 0"):
        from_dict(SegmentsEntry, {**plain, "shards": 0}, "x")
    with pytest.raises(ValueError, match="shards must be 1 for kind 'json'"):
        from_dict(SegmentsEntry, {"kind": "json", "backbone": "tiny", "options": {"path": "a"}, "shards": 2}, "x")
