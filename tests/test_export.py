"""Exported cells: each library loads its folder, by the card's own code, to the embeddings of the trained backbone."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.nn.functional import normalize
from world import BACKBONE, TRANSFORM, make_cell

from hnclip import evaluate, export, train
from hnclip.data.split import open_split
from hnclip.encode import encode_split
from hnclip.model_card import card
from hnclip.models.checkpoints import load_backbone, save_backbone
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip
from hnclip.store import read_json, write_json

HN = {"base": "infonce", "boost": "captions", "gamma": 0.5}


@torch.enable_grad()
def trained(folder, **changes):
    config, cell = make_cell(folder, recipe={"epochs": 1}, loss=HN, pairs=8, **changes)
    train.main(config, cell)
    return cell


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A cell of full fine-tuning, and its ranks on a further benchmark."""
    cell = trained(tmp_path_factory.mktemp("full"))
    write_json(cell / "target.json", {"test": read_json(cell / "config.json")["data"]["test"]})
    evaluate.main(cell, cell / "target.json", cell / "eval" / "other.parquet")
    rows = pd.read_parquet(cell / "eval" / "other.parquet")
    rows.assign(target="other/test").to_parquet(cell / "eval" / "other.parquet")
    return cell


def linked(cell, folder, without):
    """A run of the same files, but for one."""
    run = folder / "run"
    run.mkdir()
    for name in export.FILES:
        if name != without:
            os.link(cell / name, run / name)
    return run


def pictures_and_captions(cell):
    split = open_split(read_json(cell / "config.json")["data"]["test"][0])
    folder = Path(read_json(cell / "config.json")["data"]["test"][0]["manifest"]).parent
    return [Image.open(folder / path) for path in split.frame["image"]], list(split.frame["caption"]), split


def run_card(out, monkeypatch):
    """The names that the card's code makes, run where the folder lies."""
    monkeypatch.chdir(out.parent)
    code = re.search(r"```python\n(.*?)```", (out / "README.md").read_text(), re.DOTALL)[1]
    names = {}
    exec(code, names)
    return names


def same(cell, image_ND, text_ND):
    """These embeddings, of unit length, are the trained backbone's of the test split."""
    split = open_split(read_json(cell / "config.json")["data"]["test"][0])
    ours = encode_split(load_backbone(cell / "weights.safetensors").eval(), split, 8)
    for found, wanted in zip((image_ND, text_ND), ours, strict=True):
        torch.testing.assert_close(normalize(found, dim=-1), wanted, rtol=0, atol=5e-6)


@torch.no_grad()
def test_open_clip_loads_a_cell(full, tmp_path, monkeypatch):
    open_clip()
    export.main(full, tmp_path / "cell", "open_clip")
    names = run_card(tmp_path / "cell", monkeypatch)
    model, preprocess = names["model"], names["preprocess"]
    pictures, captions, _ = pictures_and_captions(full)
    assert model.context_length == 248 and type(model.visual.transformer.resblocks[0].mlp.gelu).__name__ == "QuickGELU"
    ids = names["tokenizer"](captions)
    assert ids.shape == (7, 248)
    same(full, model.encode_image(torch.stack([preprocess(picture) for picture in pictures])), model.encode_text(ids))


@torch.no_grad()
def test_transformers_loads_a_cell(full, tmp_path, monkeypatch):
    export.main(full, tmp_path / "cell", "transformers")
    names = run_card(tmp_path / "cell", monkeypatch)
    pictures, captions, _ = pictures_and_captions(full)
    inputs = names["processor"](text=captions, images=pictures, return_tensors="pt", padding=True, truncation=True)
    found = names["model"](**inputs)
    same(full, found.image_embeds, found.text_embeds)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["lora", "dora"])
def test_peft_loads_a_cell_with_adapters(tmp_path, monkeypatch, kind):
    cell = trained(tmp_path / "world", framework={"kind": kind, "options": {"rank": 4}})
    export.main(cell, tmp_path / "cell", {"lora": "peft", "dora": "adapter"}[kind])  # two names for one layout
    names = run_card(tmp_path / "cell", monkeypatch)
    pictures, captions, split = pictures_and_captions(cell)
    inputs = names["processor"](text=captions, images=pictures, return_tensors="pt", padding=True, truncation=True)
    found = names["model"](**inputs)
    same(cell, found.image_embeds, found.text_embeds)
    start = backbone_from(BACKBONE).eval()
    base = names["CLIPModel"].from_pretrained("cell/base")(**inputs)
    torch.testing.assert_close(base.text_embeds, encode_split(start, split, 8)[1], rtol=0, atol=5e-6)
    assert (found.text_embeds - base.text_embeds).abs().max() > 1e-4


def test_adapters_on_another_backbone_than_they_were_trained_on_are_refused(tmp_path):
    save_backbone(tmp_path / "start.safetensors", backbone_from(BACKBONE), {})
    entry = {"kind": "checkpoint", "weights": str(tmp_path / "start.safetensors"), "context": 248}
    cell = trained(tmp_path / "world", framework={"kind": "lora"}, backbone={**entry, "transform": TRANSFORM})
    save_backbone(tmp_path / "start.safetensors", backbone_from({**BACKBONE, "seed": 2}), {})
    with pytest.raises(ValueError, match="not the one it was trained from .*take open_clip, transformers or onnx"):
        export.main(cell, tmp_path / "cell", "peft")
    assert not (tmp_path / "cell").exists() and not list(tmp_path.glob(".cell*"))
    export.main(cell, tmp_path / "cell", "open_clip")


def test_the_card_says_what_was_trained_and_how_well(full, tmp_path):
    export.main(full, tmp_path / "cell", "open_clip")
    text = (tmp_path / "cell" / "README.md").read_text()
    record = read_json(full / "run.json")
    for said in (
        "Benchmark `world`, split `train`: 8 image-caption pairs an epoch, 100 % of the images, drawn with seed 0. "
        "Epochs: 1; pairs seen in all: 8.",
        "Framework `longclip`, loss `infonce` with boost `captions`",
        "Backbone: random weights of seed 1.",
        '"gamma": 0.5',
        '"lr": 0.01',
        f"Code {record['commit']}",
        "at most 248 tokens; longer ones are cut (0 of 8 training captions were)",
    ):
        assert said in text, said
    assert "need parts of the method" not in text
    rows = pd.read_parquet(full / "ranks.parquet")
    for target in ("world/test", "other/test"):
        for direction, named in (("t2i", "text to image"), ("i2t", "image to text")):
            rank = rows.loc[rows["direction"] == direction, "rank"].to_numpy()
            recalls = " | ".join(f"{100 * np.mean(rank < cutoff):.2f}" for cutoff in (1, 5, 10))
            assert f"| {target} | cosine | {named} | {recalls} | 7 | 7 |" in text


def test_scores_that_the_exported_towers_alone_do_not_give_are_marked(full, tmp_path):
    cell = linked(full, tmp_path, "ranks.parquet")
    rows = pd.read_parquet(full / "ranks.parquet")
    pd.concat([rows, rows.assign(scoring="reranked", rank=0)]).to_parquet(cell / "ranks.parquet")
    export.main(cell, tmp_path / "cell", "transformers")
    text = (tmp_path / "cell" / "README.md").read_text()
    assert "| world/test | reranked | text to image | 100.00 | 100.00 | 100.00 | 7 | 7 |" in text
    assert "The scores by reranked need parts of the method that are not in this folder." in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cell, out: out.mkdir(), "is there already"),
        (lambda cell, out: out.symlink_to("nowhere"), "is there already"),
        (lambda cell, out: (cell / "log.parquet").unlink(), "no finished run: it lacks ranks.parquet, log.parquet"),
    ],
)
def test_what_cannot_be_exported_is_refused(full, tmp_path, change, message):
    cell, out = linked(full, tmp_path, "ranks.parquet" if "lacks" in message else ""), tmp_path / "cell"
    change(cell, out)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        export.main(cell, out, "open_clip")
    assert not list(tmp_path.glob(".cell*"))


def test_a_format_or_weights_of_another_cell_are_refused(full, tmp_path):
    with pytest.raises(ValueError, match="'longclip' trains no adapters: take open_clip, transformers or onnx"):
        export.main(full, tmp_path / "cell", "peft")
    cell = linked(full, tmp_path, "weights.safetensors")
    save_backbone(cell / "weights.safetensors", load_backbone(full / "weights.safetensors"), {"cell": "a/b"})
    with pytest.raises(ValueError, match="run.json is of cell tiny/.*, weights.safetensors of a/b"):
        export.main(cell, tmp_path / "cell", "open_clip")


def released(folder):
    """A file in the layout of the released Long-CLIP weights, of small width and with the whole vocabulary."""
    architecture = {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 16, "layers": 1, "width": 64, "patch_size": 8},
        "text_cfg": {"context_length": 248, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
        "quick_gelu": True,
    }
    torch.manual_seed(6)
    state = open_clip().model.CLIP(**architecture).state_dict()
    state["positional_embedding_res"] = torch.randn(248, 64) * 0.01
    torch.save({name: value.half() for name, value in state.items()}, folder / "longclip.pt")
    return {"kind": "longclip", "weights": str(folder / "longclip.pt"), "context": 248, "transform": TRANSFORM}


def test_the_card_tells_the_hash_of_published_weights_and_of_a_local_file(full):
    record, backbone = read_json(full / "run.json"), load_backbone(full / "weights.safetensors")
    transform = {"context": 77, "tokenizer": "clip", "transform": TRANSFORM}
    record["config"]["backbone"] = {"kind": "open_clip", "model": "ViT-B-16", "pretrained": "openai", **transform}
    record["published_weights"] = {"ViT-B-16:openai": "1" * 64}
    told = card(full, record, record["config"]["backbone"], "open_clip", "model", backbone)
    assert f"open_clip's `ViT-B-16` with weights `openai`; SHA-256 of the file {'1' * 64}.\n" in told
    record["config"]["backbone"]["pretrained"] = "b16.pt"
    record["files"]["b16.pt"] = "2" * 64
    told = card(full, record, record["config"]["backbone"], "open_clip", "model", backbone)
    assert f"with weights `b16.pt`; SHA-256 of the file {'2' * 64}.\n" in told and "1" * 64 not in told


@torch.no_grad()
def test_a_released_long_clip_file_trains_exports_and_evaluates(tmp_path, monkeypatch):
    cell = trained(tmp_path / "world", backbone=released(tmp_path))
    write_json(cell / "target.json", {"test": read_json(cell / "config.json")["data"]["test"]})
    evaluate.main(cell, cell / "target.json", cell / "eval" / "again.parquet")
    pd.testing.assert_frame_equal(*(pd.read_parquet(cell / name) for name in ("ranks.parquet", "eval/again.parquet")))
    export.main(cell, tmp_path / "cell", "open_clip")
    assert f"released Long-CLIP weights, `{tmp_path / 'longclip.pt'}`; SHA-256" in (
        tmp_path / "cell" / "README.md"
    ).read_text(encoding="utf-8")
    names = run_card(tmp_path / "cell", monkeypatch)
    pictures, captions, _ = pictures_and_captions(cell)
    pixels = torch.stack([names["preprocess"](picture) for picture in pictures])
    same(cell, names["model"].encode_image(pixels), names["model"].encode_text(names["tokenizer"](captions)))
