"""Towers, stretch and checkpoints: equal to open_clip's own where it has one, and to the reference."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize
from world import ARCHITECTURE, BACKBONE, TRANSFORM

from hnclip.data.tokens import tokenize
from hnclip.models.checkpoints import extra_weights, load_backbone, provenance, save_backbone
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip
from hnclip.models.stretch import stretch_positions

CAPTIONS = ["a cat", " ".join(["a brown dog on a mat"] * 30), "red", " ".join(["seven small boats"] * 8), "no!"]


@pytest.fixture(scope="module")
def backbone():
    return backbone_from(BACKBONE).eval()


def test_stretch_is_the_reference():
    golden = np.load(Path(__file__).parents[1] / "golden" / "longclip_positions.npz")
    ours = stretch_positions(torch.from_numpy(golden["positions_77"])).numpy()
    assert np.abs(ours - golden["positions_248"]).max() / np.abs(golden["positions_248"]).max() < 1e-12


def test_towers_equal_open_clips_on_padded_captions(backbone):
    tokens = tokenize(CAPTIONS, "clip", 248)
    padded = open_clip().SimpleTokenizer(context_length=248)(CAPTIONS)
    pixels = torch.randint(0, 256, (5, 16, 16, 3), dtype=torch.uint8)
    with torch.no_grad():
        text_ND, states = backbone.text(*tokens.batch(np.arange(5)))
        image_ND, patches = backbone.image(pixels)
        theirs = backbone.clip.encode_text(padded, normalize=True)
        standard = (pixels.permute(0, 3, 1, 2) / 255 - backbone.mean) / backbone.std
        torch.testing.assert_close(text_ND, theirs, rtol=0, atol=2e-6)
        torch.testing.assert_close(image_ND, backbone.clip.encode_image(standard, normalize=True), rtol=0, atol=2e-6)
        pooled = normalize(backbone.project_patches(patches[:, 0]), dim=-1)
    torch.testing.assert_close(pooled, image_ND, rtol=0, atol=1e-6)
    assert states.shape[1] == tokens.lengths().max()


@pytest.mark.parametrize("rows", [[0], [0, 2], [1, 0, 3], [4, 3, 2, 1, 0]])
def test_a_row_does_not_depend_on_its_companions(backbone, rows):
    tokens = tokenize(CAPTIONS, "clip", 248)
    with torch.no_grad():
        alone = torch.cat([backbone.text(*tokens.batch(np.array([row])))[0] for row in rows])
        together = backbone.text(*tokens.batch(np.array(rows)))[0]
    torch.testing.assert_close(alone, together, rtol=0, atol=2e-6)


def test_a_saved_backbone_comes_back_with_activation_and_context(tmp_path, backbone):
    save_backbone(tmp_path / "b.safetensors", backbone, {"cell": "x"})
    again = load_backbone(tmp_path / "b.safetensors").eval()
    assert again.context == 248 and again.architecture == backbone.architecture
    assert provenance(tmp_path / "b.safetensors") == {"cell": "x"}
    pixels = torch.randint(0, 256, (3, 16, 16, 3), dtype=torch.uint8)
    tokens = tokenize(CAPTIONS, "clip", 248).batch(np.arange(5))
    with torch.no_grad():
        assert torch.equal(again.image(pixels)[0], backbone.image(pixels)[0])
        assert torch.equal(again.text(*tokens)[0], backbone.text(*tokens)[0])


def test_a_methods_own_weights_stand_beside_the_backbones(tmp_path, backbone):
    extra = {"head.weight": torch.rand(2, 3), "head.count": torch.tensor(7)}
    save_backbone(tmp_path / "b.safetensors", backbone, {}, extra=extra)
    found = extra_weights(tmp_path / "b.safetensors")
    assert found.keys() == extra.keys() and all(torch.equal(found[name], extra[name]) for name in extra)
    assert found["head.count"].dtype == torch.int64
    again = load_backbone(tmp_path / "b.safetensors").clip.state_dict()
    assert all(torch.equal(again[name], value) for name, value in backbone.weights().items())
    save_backbone(tmp_path / "plain.safetensors", backbone, {})
    assert extra_weights(tmp_path / "plain.safetensors") == {}


def test_the_activation_is_read_from_the_file(tmp_path, backbone):
    from safetensors import safe_open
    from safetensors.torch import save_file

    save_backbone(tmp_path / "b.safetensors", backbone, {})
    with safe_open(tmp_path / "b.safetensors", framework="pt") as file:
        metadata, weights = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    other = {**json.loads(metadata["architecture"]), "quick_gelu": False}
    save_file(weights, tmp_path / "c.safetensors", {**metadata, "architecture": json.dumps(other)})
    pixels = torch.randint(0, 256, (3, 16, 16, 3), dtype=torch.uint8)
    with torch.no_grad():
        difference = load_backbone(tmp_path / "c.safetensors").image(pixels)[0] - backbone.image(pixels)[0]
    assert difference.abs().max() > 1e-4


def test_a_file_that_is_no_backbone_is_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match="is not a backbone written by hnclip"):
        load_backbone(tmp_path / "a.safetensors")
    with pytest.raises(FileNotFoundError, match="no backbone weights at"):
        load_backbone(tmp_path / "missing.safetensors")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "randm"}, "unknown backbone kind 'randm'"),
        ({"context": 100}, "stretches to 248, not to 100"),
        ({"kind": "checkpoint"}, "needs `weights`"),
        ({"contxt": 1}, "did you mean 'context'"),
    ],
)
def test_wrong_entries_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        backbone_from({**BACKBONE, **changes})


def test_a_transform_that_is_not_the_checkpoints_is_refused(tmp_path, backbone):
    save_backbone(tmp_path / "b.safetensors", backbone, {})
    entry = {"kind": "checkpoint", "weights": str(tmp_path / "b.safetensors"), "context": 248}
    with pytest.raises(ValueError, match="size: 32 in the config, 16 in the checkpoint"):
        backbone_from({**entry, "transform": {**TRANSFORM, "size": 32}})


def test_towers_of_another_layout_are_taken_whole(backbone):
    from hnclip.models.checkpoints import build, check_layout

    architecture = {**ARCHITECTURE, "vision_cfg": {**ARCHITECTURE["vision_cfg"], "pool_type": "avg"}}
    found = build(architecture, replace(backbone.preprocess))
    assert not found.offers and backbone.offers
    with pytest.raises(ValueError, match="no ViT with a class token"):
        check_layout(found.clip)
