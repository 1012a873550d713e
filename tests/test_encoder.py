"""An encoder's identity tells models apart that differ in more than their weights; texts that it cuts are known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from world import TRANSFORM

from hnclip import export
from hnclip.encoder import Encoder
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from
from hnclip.models.reading import read_of, tokens_of


def test_another_look_or_activation_is_another_identity():
    encoder = Encoder("tiny")

    def identity():
        encoder.__dict__.pop("identity", None)  # it is kept
        return encoder.identity

    found = [identity()]
    assert identity() == found[0]
    encoder.backbone.preprocess = replace(encoder.backbone.preprocess, mean=(0.5, 0.5, 0.5))
    found.append(identity())
    encoder.backbone.architecture = {**encoder.backbone.architecture, "quick_gelu": False}
    assert len({*found, identity()}) == 3


def whole(**text):
    """Towers that are taken whole: a text tower that sees all of its caption."""
    words = {"context_length": 12, "width": 64, "heads": 4, "layers": 1, "no_causal_mask": True, "pool_type": "last"}
    vision = {"image_size": 16, "patch_size": 8, "width": 64, "head_width": 32, "layers": 1, "pool_type": "avg"}
    return {"embed_dim": 16, "vision_cfg": vision, "text_cfg": words | text}


def saved(path, architecture):
    entry = {"kind": "random", "architecture": architecture, "context": 12, "transform": TRANSFORM, "seed": 5}
    save_backbone(path, backbone_from(entry), {})
    return str(path)


def test_heads_and_pooling_are_of_the_identity(tmp_path):
    first = whole()
    second = {**first, "vision_cfg": {**first["vision_cfg"], "pool_type": "tok"}}
    third = {**first, "vision_cfg": {**first["vision_cfg"], "head_width": 16}}
    all_of_them = [first, second, third, whole(heads=8), whole(pool_type="first")]
    encoders = [Encoder(saved(tmp_path / f"{number}.safetensors", one)) for number, one in enumerate(all_of_them)]
    weights = [encoder.backbone.weights() for encoder in encoders]
    assert all(torch.equal(value, weights[0][name]) for one in weights for name, value in one.items())
    assert len({encoder.identity for encoder in encoders}) == len(encoders)


def test_a_default_that_is_written_out_is_no_other_identity(tmp_path):
    written = whole(proj_type="linear", eos_id=2, output_tokens=False)
    paths = [saved(tmp_path / f"{name}.safetensors", one) for name, one in (("a", whole()), ("b", written))]
    assert len({Encoder(path).identity for path in paths}) == 1


def test_heads_of_towers_in_openai_s_layout_are_of_the_identity(tmp_path):
    usual = {"embed_dim": 16, "vision_cfg": {"image_size": 16, "patch_size": 8, "width": 64, "layers": 1}}
    usual["text_cfg"] = {"context_length": 12, "width": 128, "heads": 2, "layers": 1}
    other = {**usual, "text_cfg": {**usual["text_cfg"], "heads": 4}}
    first, second = (
        Encoder(saved(tmp_path / f"{name}.pt.safetensors", one)) for name, one in (("a", usual), ("b", other))
    )
    assert read_of(first.backbone) == {} and read_of(second.backbone) == {"text_cfg": {"heads": 4}}
    assert first.identity != second.identity


@pytest.mark.parametrize("architecture", [whole(), whole(pool_type="first", heads=1)])
def test_an_exported_folder_has_the_identity_of_its_model_wherever_it_lies(tmp_path, architecture):
    path = saved(tmp_path / "mine.safetensors", architecture)
    export.main(tmp_path / "mine.safetensors", tmp_path / "theirs", "open_clip")
    (tmp_path / "theirs").rename(tmp_path / "moved")
    assert Encoder(str(tmp_path / "moved")).identity == Encoder(path).identity


def test_tokenizers_are_told_apart_by_their_tokens():
    assert tokens_of("clip", 77) == "clip"
    assert tokens_of("open_clip:ViT-B-32", 77) == tokens_of("open_clip:RN50", 77) != "clip"
    assert tokens_of("open_clip:ViT-B-32", 8) != tokens_of("open_clip:ViT-B-32", 77)


def test_a_text_that_just_fits_is_not_cut():
    encoder = Encoder("tiny")
    fits = " ".join(["box"] * (encoder.entry["context"] - 2))
    assert encoder.cut([fits, f"{fits} box", "a box"]) == [False, True, False]


def test_files_are_embedded_in_their_order_as_their_bytes_are(tmp_path):
    encoder = Encoder("tiny", batch=2)
    paths = [tmp_path / f"{name}.png" for name in "cab"]
    for number, path in enumerate(paths):
        Image.new("RGB", (60, 50 + number), (90 * number, 50, 200)).save(path)
    found = encoder.files(paths)
    assert np.abs(found - encoder.images((path.name, path.read_bytes()) for path in paths)).max() < 1e-6
    assert found.shape == (3, encoder.width) and (found[0] @ found[1:].T < 0.9999).all()
    assert encoder.files([]).shape == (0, encoder.width)
    paths[1].write_bytes(b"no picture")
    with pytest.raises(ValueError, match="a.png: cannot be read"):
        encoder.files(paths)


def test_broken_weights_embed_nothing():
    encoder = Encoder("tiny")
    encoder.backbone.clip.visual.ln_post.weight.data[0] = float("nan")
    with pytest.raises(ValueError, match=r"tiny gives no finite embeddings \(1 of 1 pictures tried\)"):
        encoder.pixels([np.zeros((48, 48, 3), np.uint8)])
    encoder.backbone.clip.ln_final.weight.data[0] = float("nan")
    with pytest.raises(ValueError, match=r"\(2 of 2 texts tried\): its weights are broken"):
        encoder.texts(["a", "b"])
