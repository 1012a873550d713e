"""Exports of maps of cached embeddings, of models that are no runs, and the command."""

import json

import numpy as np
import pytest
import torch
from test_export import run_card
from typer.testing import CliRunner
from world import BACKBONE

from hnclip import export
from hnclip.cli.app import app
from hnclip.encoder import Encoder
from hnclip.models.cached import CachedTowers, load_adapter, save_adapter
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from
from hnclip.store import read_json, sha256_of, write_json, write_rows

CELL = "own/mine/adapter/hn/f100/s0"


def adapter_run(folder, towers, entry, files=()):
    """A run as framework adapter leaves it, which has read these files."""
    folder.mkdir()
    config = {
        "cell": CELL,
        "seed": 0,
        "fraction": 100,
        "backbone": entry,
        "framework": {"kind": "adapter", "inputs": {"embeddings": True}},
        "loss": {"base": "infonce", "boost": "captions", "gamma": 0.5},
        "recipe": {"epochs": 1},
        "data": {"train": {"name": "mine/train"}},
    }
    record = {"cell": CELL, "config": config, "captions_cut": {"mine/train": [None, 4]}, "pairs": 4}
    record["files"] = {str(path): sha256_of(path) for path in files}
    record |= {"versions": {"torch": "2"}, "commit": "abc", "dirty": False, "device": "cpu", "finished": "today"}
    write_json(folder / "run.json", record)
    save_adapter(folder / "weights.safetensors", towers, {"cell": CELL})
    rank = {"target": "mine/test", "scoring": "cosine", "direction": "t2i", "rank": 0, "gallery": 2}
    write_rows(folder / "ranks.parquet", [rank, {**rank, "direction": "i2t"}])
    write_rows(folder / "log.parquet", [{"kind": "train", "epoch": 0, "pairs": 4}])
    return folder


def drawn_towers(widths, hidden, sides):
    torch.manual_seed(0)
    towers = CachedTowers(widths, 50.0, hidden, sides)
    for name, value in towers.named_parameters():
        if "logit_scale" not in name:
            torch.nn.init.normal_(value, std=0.3)
    return towers


@torch.no_grad()
@pytest.mark.parametrize(
    ("widths", "hidden", "sides"),
    [((8, 8), None, ("image", "text")), ((12, 8), 5, ("image", "text")), ((8, 12), 5, ("text",))],
)
def test_the_cards_code_maps_embeddings_as_the_run_does(tmp_path, monkeypatch, widths, hidden, sides):
    towers = drawn_towers(widths, hidden, sides)
    entry = {"kind": "embeddings", "file": "mine.parquet"}
    told = export.main(adapter_run(tmp_path / "run", towers, entry), tmp_path / "maps", "adapter")
    assert told["files"] == ["README.md", "adapter.safetensors", "adapter_config.json"]
    adapt = run_card(tmp_path / "maps", monkeypatch)["adapt"]
    rows = [torch.randn(6, width) for width in widths]
    wanted = towers.image(rows[0])[0], towers.text(rows[1])[0]
    for side, given, expected in zip(("image", "text"), rows, wanted, strict=True):
        torch.testing.assert_close(adapt(given.numpy(), side), expected)
        assert expected.shape == (6, 8)
    config = read_json(tmp_path / "maps" / "adapter_config.json")
    assert config["widths"] == {"image": widths[0], "text": widths[1], "out": 8} and config["backbone"] == entry
    assert config["scale"] == pytest.approx(50.0) and config["trained_sides"] == list(sides)
    assert torch.equal(load_adapter(tmp_path / "maps" / "adapter.safetensors").image(rows[0])[0], wanted[0])
    card = (tmp_path / "maps" / "README.md").read_text(encoding="utf-8")
    assert "Maps of a CLIP's embeddings, trained" in card and "its towers are not here" in card


def test_maps_are_no_towers(tmp_path):
    cell = adapter_run(tmp_path / "run", drawn_towers((8, 8), None, ("image",)), {"kind": "embeddings", "file": "a"})
    for format in ("open_clip", "transformers", "peft"):
        with pytest.raises(ValueError, match=f"no towers of its own: take adapter, not {format}"):
            export.main(cell, tmp_path / "out", format)
    with pytest.raises(ValueError, match="maps embeddings of a, and that file, which says what model made them, is"):
        export.main(cell, tmp_path / "out", "onnx")
    assert not (tmp_path / "out").exists()


@torch.no_grad()
def test_a_weights_file_is_exported_with_a_short_card(tmp_path, monkeypatch):
    file = tmp_path / "mine.safetensors"
    save_backbone(file, backbone_from(BACKBONE), {})
    export.main(file, tmp_path / "out", "open_clip")
    names = run_card(tmp_path / "out", monkeypatch)
    wanted = Encoder(str(file)).texts(["a red box"])
    found = names["model"].encode_text(names["tokenizer"](["a red box"]), normalize=True)
    assert np.abs(found.numpy() - wanted).max() < 1e-5
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "a weights file of hnclip" in card and "no record of training and scores" in card and "## Scores" not in card


def test_models_and_formats_that_do_not_go_together(tmp_path):
    with pytest.raises(ValueError, match="tiny is no run, and has no adapters: take open_clip, transformers or onnx"):
        export.main("tiny", tmp_path / "out", "adapter")
    with pytest.raises(ValueError, match="there is no model 'nowhere'. A model is: tiny"):
        export.main("nowhere", tmp_path / "out", "open_clip")
    with pytest.raises(ValueError, match="unknown format 'onx'.*onnx.*known: open_clip"):
        export.main("tiny", tmp_path / "out", "onx")


def test_the_command_prints_one_json_document(tmp_path):
    done = CliRunner().invoke(app, ["export", "tiny", str(tmp_path / "out"), "--to", "open_clip", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {
        "out": str(tmp_path / "out"),
        "format": "open_clip",
        "files": ["README.md", "open_clip_config.json", "open_clip_model.safetensors"],
    }
    assert CliRunner().invoke(app, ["export", "tiny", str(tmp_path / "out"), "--to", "tensorflow"]).exit_code == 2
    refused = CliRunner().invoke(app, ["export", "tiny", str(tmp_path / "out"), "--to", "open_clip"])
    assert isinstance(refused.exception, ValueError) and "is there already" in str(refused.exception)
