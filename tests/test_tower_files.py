"""The files of a backbone are those that its towers and its tokenizer are read from."""

import json
from pathlib import Path

import pytest

from hnclip.tower_files import published, tower_files, weights_files

CLIP = {"kind": "open_clip", "model": "ViT-B-16", "context": 77, "tokenizer": "clip"}


def exported(folder: Path, **text) -> dict:
    """A folder in open_clip's layout with everything beside, and the entry of a backbone there."""
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "open_clip_model.safetensors", "README.md"):
        (folder / name).write_text("{}")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": {"vision_cfg": {}, "text_cfg": text}}))
    return {**CLIP, "model": f"local-dir:{folder}"}


@pytest.mark.parametrize(
    ("pretrained", "file"),
    [("openai", False), ("laion2b_s34b_b88k", False), ("b16.pt", True), ("my weights/b16", True), ("/a/é.bin", True)],
)
def test_weights_for_open_clip_are_a_tag_or_a_file(pretrained, file):
    entry = {**CLIP, "pretrained": pretrained}
    assert weights_files(entry) == ([pretrained] if file else [])
    assert published(entry) == (None if file else f"ViT-B-16:{pretrained}")


def test_a_file_that_is_called_like_a_tag_is_a_file_as_it_is_where_they_are_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openai").write_bytes(b"weights")
    entry = {**CLIP, "pretrained": "openai"}
    assert (weights_files(entry), published(entry)) == (["openai"], None)


def test_weights_of_the_hub_are_published_and_others_are_not():
    entry = {"kind": "longclip", "weights": "hub:a/b/c.pt", "tokenizer": "clip"}
    assert published(entry) == "hub:a/b/c.pt" and tower_files(entry) == []
    assert published({**entry, "weights": "c.pt"}) is None and tower_files({**entry, "weights": "c.pt"}) == ["c.pt"]
    assert published({"kind": "starter", "tokenizer": "clip"}) is None


def test_a_folder_of_open_clips_has_its_weights_and_its_configuration(tmp_path):
    entry = exported(tmp_path / "clip")
    own = ["open_clip_config.json", "open_clip_model.safetensors"]
    assert tower_files(entry) == [str(tmp_path / "clip" / name) for name in own] and published(entry) is None


def test_the_configuration_of_a_text_tower_is_where_it_is_read_from(tmp_path):
    beside = exported(tmp_path / "beside", hf_model_name="any", hf_model_pretrained=False)
    assert str(tmp_path / "beside/config.json") in tower_files(beside)
    (tmp_path / "words").mkdir()
    (tmp_path / "words/config.json").write_text("{}")
    elsewhere = exported(tmp_path / "elsewhere", hf_model_name=str(tmp_path / "words"))
    assert str(tmp_path / "words/config.json") in tower_files(elsewhere)
    assert str(tmp_path / "elsewhere/config.json") not in tower_files(elsewhere)
    random = {"kind": "random", "architecture": {"text_cfg": {"hf_model_name": str(tmp_path / "words")}}}
    assert tower_files(random) == [str(tmp_path / "words/config.json")]


def test_the_files_of_the_tokenizer_are_among_them_once(tmp_path):
    entry = exported(tmp_path / "clip", hf_tokenizer_name="any")
    found = tower_files({**entry, "tokenizer": f"open_clip:local-dir:{tmp_path / 'clip'}"})
    assert {Path(path).name for path in found} == {
        *("open_clip_config.json", "open_clip_model.safetensors", "config.json", "tokenizer.json")
    }
    assert len(found) == len(set(found))
    assert str(tmp_path / "clip/tokenizer.json") in tower_files(
        {"kind": "starter", "tokenizer": f"hf:{tmp_path / 'clip'}"}
    )


def test_embeddings_of_the_user_are_a_file_without_a_tokenizer():
    assert tower_files({"kind": "embeddings", "file": "mine.npz"}) == ["mine.npz"]
