"""What a run is said to be made with."""

import ast
import hashlib
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import torch
from world import TRANSFORM, make_cell

from hnclip import record, train
from hnclip.checkpoint import Progress
from hnclip.models.openclip import open_clip
from hnclip.store import read_json

SOURCE = Path(record.__file__).parent
FILES_ALONE = {"safetensors", "huggingface_hub", "tokenizers", "onnxruntime"}  # read, fetched or exported by them


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_files_of_a_tokenizer_are_among_those_that_were_read(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words/vocab.txt").write_text("a\nb")
    path, _ = make_cell(tmp_path, pairs=5)
    config = read_json(path)
    before = record.origin(config)
    config["backbone"]["tokenizer"] = f"hf:{tmp_path / 'words'}"
    vocabulary = tmp_path / "words/vocab.txt"
    assert record.origin(config)["files"] == before["files"] | {str(vocabulary): sha256(vocabulary)}


def test_the_versions_are_told_of_all_packages_that_compute_in_towers_and_losses(tmp_path):
    imported = set()
    for path in [path for part in ("models", "losses", "frameworks") for path in (SOURCE / part).glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            imported |= {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"hnclip"}
    packages = {packages_distributions()[name][0] for name in imported}
    told = record.origin(read_json(make_cell(tmp_path, pairs=5)[0]))["versions"]
    assert {"timm", "transformers"} <= packages - FILES_ALONE <= told.keys()


@pytest.fixture
def tagged(tmp_path, monkeypatch) -> dict:
    """A backbone of open_clip's whose tag names a file of this machine, in which other weights may come to be."""
    backbone = {
        **{"kind": "open_clip", "model": "test", "pretrained": "now", "context": 77, "tokenizer": "clip"},
        "transform": TRANSFORM,
    }
    path = tmp_path / "cached.pt"
    path.write_bytes(b"first")
    monkeypatch.setattr(open_clip().pretrained, "get_pretrained_cfg", lambda model, tag: {"file": str(path)})
    monkeypatch.setattr(open_clip().pretrained, "download_pretrained", lambda published: published["file"])
    return backbone


def test_published_weights_are_told_by_the_hash_of_their_file(tmp_path, tagged):
    config = {**read_json(make_cell(tmp_path, pairs=5)[0]), "backbone": tagged}
    cached = tmp_path / "cached.pt"
    before = record.origin(config)
    assert before["published_weights"] == {"test:now": sha256(cached)} and str(cached) not in before["files"]
    cached.write_bytes(b"second")
    after = record.origin(config)
    assert [part for part in before if before[part] != after[part]] == ["published_weights"]
    config["framework"] = {"kind": "adapter", "inputs": {"embeddings": True}}
    assert record.origin(config)["published_weights"] == {}


def test_a_checkpoint_from_other_published_weights_is_left_aside(tmp_path, capsys, monkeypatch):
    path, run = make_cell(tmp_path, pairs=5)
    for hash in ("first", "second"):
        monkeypatch.setattr(record, "_published", lambda config, hash=hash: {"test:now": hash})
        trainer = train.Trainer(read_json(path), run)
        trainer.progress = Progress(step=1)
        if hash == "first":
            trainer._save(run / "checkpoint.pt")
    trainer._go_on(run / "checkpoint.pt")
    assert "was made with other published_weights and is not used" in capsys.readouterr().out
    assert trainer.progress.step == 0
    assert torch.load(run / "checkpoint.pt", weights_only=True)["origin"]["published_weights"] == {"test:now": "first"}
