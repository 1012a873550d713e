"""Published weights are fetched before the jobs that load them."""

import hashlib
from pathlib import Path

import pytest

from hnclip.models import fetch
from hnclip.models.openclip import open_clip
from hnclip.store import read_json

CLIP = {"kind": "open_clip", "model": "ViT-B-32-quickgelu", "context": 77, "transform": {}}


@pytest.fixture
def asked(monkeypatch, tmp_path) -> list[dict]:
    """What open_clip is asked to fetch; it has a file for the first of it and no network for others."""
    asked: list[dict] = []

    def download(published: dict) -> str:
        asked.append(published)
        if len(asked) > 1:
            raise FileNotFoundError("Failed to download file\nat length")
        (tmp_path / "model.bin").write_bytes(b"weights")
        return str(tmp_path / "model.bin")

    monkeypatch.setattr(open_clip().pretrained, "download_pretrained", download)
    monkeypatch.setattr(fetch, "CACHE", tmp_path / "cache")
    return asked


def test_the_weights_of_a_tag_are_fetched_and_their_hash_is_kept(asked, tmp_path):
    fetch.fetch({**CLIP, "pretrained": "openai"}, tmp_path / "record.json")
    assert asked == [open_clip().pretrained.get_pretrained_cfg("ViT-B-32-quickgelu", "openai")]
    assert read_json(tmp_path / "record.json") == {
        "weights": "openai",
        "file": str(tmp_path / "model.bin"),
        "bytes": 7,
        "sha256": hashlib.sha256(b"weights").hexdigest(),
    }
    with pytest.raises(OSError, match="'openai' of ViT-B-32-quickgelu .*Failed to download file.*`pretrained_tag"):
        fetch.fetch({**CLIP, "pretrained": "openai"}, tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists() and not list((tmp_path / "cache").iterdir())


def test_an_unknown_tag_and_weights_that_are_not_published_are_refused(tmp_path):
    with pytest.raises(ValueError, match="ViT-B-32-quickgelu .*'opena'.*openai"):
        fetch.fetch({**CLIP, "pretrained": "opena"}, tmp_path / "record.json")
    with pytest.raises(ValueError, match="kind 'starter' has no published weights"):
        fetch.fetch({"kind": "starter", "context": 248, "transform": {}}, tmp_path / "record.json")


def test_a_file_of_the_hub_is_fetched_by_its_client(monkeypatch, tmp_path):
    (tmp_path / "c.pt").write_bytes(b"weights")
    monkeypatch.setattr(fetch, "weights_file", lambda named: Path(tmp_path / named.rpartition("/")[2]))
    entry = {"kind": "longclip", "weights": "hub:a/b/c.pt", "context": 248, "transform": {}}
    fetch.fetch(entry, tmp_path / "record.json")
    assert read_json(tmp_path / "record.json")["file"] == str(tmp_path / "c.pt")
