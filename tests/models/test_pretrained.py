"""Models of open_clip by name: weights by tag or from a file, the preprocessing that belongs to them, refusals."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from world import ARCHITECTURE, TRANSFORM

from hnclip.data.tokens import tokenize
from hnclip.models.checkpoints import OPENAI_MEAN
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip
from hnclip.models.pretrained import load_open_clip


@pytest.fixture
def named_in_open_clip(tmp_path):
    """A small model that open_clip knows by name, and its weights in half precision in a file."""
    package = open_clip()
    (tmp_path / "small-for-tests.json").write_text(json.dumps(ARCHITECTURE))
    package.add_model_config(tmp_path / "small-for-tests.json")
    torch.manual_seed(4)
    model = package.create_model("small-for-tests").eval()
    torch.save({name: weight.half() for name, weight in model.state_dict().items()}, tmp_path / "weights.pt")
    return model.half().float(), str(tmp_path / "weights.pt")


def test_a_model_of_open_clip_from_a_local_file(named_in_open_clip, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model, path = named_in_open_clip
    entry = {"kind": "open_clip", "model": "small-for-tests", "pretrained": path, "context": 248}
    ours = backbone_from({**entry, "transform": TRANSFORM}).eval()
    assert {weight.dtype for weight in ours.parameters()} == {torch.float32} and ours.context == 248
    short = tokenize(["a cat", "seven small boats"], "clip", 77)
    with torch.no_grad():
        theirs = model.encode_text(open_clip().SimpleTokenizer(context_length=77)(["a cat", "seven small boats"]), True)
        torch.testing.assert_close(ours.text(*short.batch(np.arange(2)))[0], theirs, rtol=0, atol=2e-6)


@pytest.fixture
def tagged(named_in_open_clip, monkeypatch):
    """The same weights also under a tag with a preprocessing of its own."""
    from open_clip import pretrained

    _, path = named_in_open_clip
    own = {"file": path, "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.2, 0.2), "interpolation": "bilinear"}
    tags = {"own": {**own, "resize_mode": "squash", "quick_gelu": True}, "plain": {**own, "quick_gelu": False}}
    tags["far"] = {"hf_hub": "nobody/nothing/weights.pt", "quick_gelu": True}
    monkeypatch.setitem(pretrained._PRETRAINED, "small-for-tests", tags)
    return path


def test_the_preprocessing_is_the_tags(tagged):
    by_tag, by_file = load_open_clip("small-for-tests", "own"), load_open_clip("small-for-tests", tagged, "own")
    assert by_tag.preprocess == by_file.preprocess
    assert by_tag.preprocess.mean == (0.5, 0.4, 0.3) and by_tag.preprocess.resize == "squash"
    weights = by_file.clip.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in by_tag.clip.state_dict().items())
    assert load_open_clip("small-for-tests", tagged).preprocess.mean == OPENAI_MEAN


def test_tags_that_do_not_fit_a_file_are_refused(tagged):
    with pytest.raises(ValueError, match="unknown `pretrained_tag` of small-for-tests 'onw'.*did you mean 'own'"):
        load_open_clip("small-for-tests", tagged, "onw")
    with pytest.raises(ValueError, match="'plain' were trained without QuickGELU"):
        load_open_clip("small-for-tests", tagged, "plain")


def test_a_tag_that_cannot_be_fetched_names_the_way_out(tagged, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(
        ValueError, match="'far' of small-for-tests could not be had.*local file.*`pretrained_tag: far`"
    ):
        load_open_clip("small-for-tests", "far")


def test_checkpoints_of_open_clips_own_training_load(named_in_open_clip, tmp_path):
    model, path = named_in_open_clip
    state = {f"module.{name}": weight for name, weight in model.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": state}, tmp_path / "epoch_3.pt")
    save_file({**model.state_dict(), "logit_scale": torch.ones(1)}, tmp_path / "weights.safetensors")
    for name in ("epoch_3.pt", "weights.safetensors"):
        clip = load_open_clip("small-for-tests", str(tmp_path / name)).clip
        assert torch.equal(clip.visual.proj, model.visual.proj)


@pytest.mark.filterwarnings("ignore")  # torch says that TorchScript is old; OpenAI's own files are of it
def test_openais_archives_load(named_in_open_clip, tmp_path):
    model, _ = named_in_open_clip
    model.register_buffer("input_resolution", torch.tensor(16))
    model.attn_mask = model._buffers.pop("attn_mask")  # a constant in theirs
    inputs = (torch.zeros(1, 3, 16, 16), torch.zeros(1, 77, dtype=torch.long))
    torch.jit.trace(model, inputs, check_trace=False).save(str(tmp_path / "archive.pt"))
    clip = load_open_clip("small-for-tests", str(tmp_path / "archive.pt")).clip
    assert torch.equal(clip.visual.proj, model.visual.proj) and torch.equal(clip.ln_final.bias, model.ln_final.bias)


@pytest.mark.parametrize("name", ["positional_embedding", "visual.positional_embedding"])
def test_positions_of_another_length_are_refused_not_resized(named_in_open_clip, tmp_path, name):
    state = named_in_open_clip[0].state_dict()
    torch.save({**state, name: state[name].repeat(2, 1)}, tmp_path / "long.pt")
    with pytest.raises(ValueError, match=f"{name} is .* the model's"):
        load_open_clip("small-for-tests", str(tmp_path / "long.pt"))


def test_weights_of_another_activation_are_refused_before_any_download():
    with pytest.raises(ValueError, match="trained with QuickGELU, the model 'ViT-B-32' is not"):
        load_open_clip("ViT-B-32", "openai")
    with pytest.raises(ValueError, match="open_clip knows no model 'ViT-B-31'"):
        load_open_clip("ViT-B-31", "openai")


def test_weights_that_do_not_fit_are_refused_in_one_message(named_in_open_clip, tmp_path):
    with pytest.raises(ValueError, match="unknown pretrained weights of ViT-B-32 .*'opennai'.*did you mean 'openai'"):
        load_open_clip("ViT-B-32", "opennai")
    with pytest.raises(ValueError, match="unknown pretrained weights"):
        load_open_clip("small-for-tests", "")
    torch.save({"other": torch.zeros(2)}, tmp_path / "other.pt")
    (tmp_path / "junk.pt").write_text("no weights")
    for name in ("other.pt", "junk.pt"):
        with pytest.raises(ValueError, match=f"{name}' could not be loaded into small-for-tests"):
            load_open_clip("small-for-tests", str(tmp_path / name))
