"""Released Long-CLIP files: the golden one, the layouts of B and L, and the ways in which such a file is wrong."""

import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn.functional import normalize
from world import TRANSFORM

from hnclip.models.load import backbone_from
from hnclip.models.longclip import KEPT, SECOND, architecture_of, load_longclip, merge_positions
from hnclip.models.openclip import open_clip
from hnclip.models.pretrained import load_open_clip
from hnclip.models.state_file import read_state
from hnclip.models.stretch import stretch_positions

GOLDEN = Path(__file__).parents[1] / "golden"
TINY = GOLDEN / "longclip_tiny_checkpoint.pt"


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN / "longclip_tiny_checkpoint.npz") as file:
        return {name: torch.from_numpy(file[name]) for name in file}


@pytest.fixture
def released():
    return read_state(TINY)


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a network call")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def write(path, state):
    torch.save(state, path)
    return str(path)


def error(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


@torch.no_grad()
def test_the_golden_checkpoint_gives_the_references_features(golden):
    backbone = load_longclip(str(TINY)).eval()
    ids, image = golden["token_ids"], golden["image"]
    lengths = ids.argmax(-1) + 1
    assert lengths.tolist() == [12, 40, 150, 248] and backbone.context == 248
    assert error(backbone.clip.encode_image(image), golden["image_features"]) < 1e-4
    assert error(backbone.clip.encode_text(ids), golden["text_features"]) < 1e-4
    assert error(backbone.text(ids, lengths)[0], normalize(golden["text_features"], dim=-1)) < 1e-4


@torch.no_grad()
def test_dropping_the_second_table_changes_long_captions_and_is_refused(golden, released, tmp_path):
    whole = load_longclip(str(TINY)).eval()
    second = released.pop(SECOND)
    with pytest.raises(ValueError, match="one text position table of 248 rows .*second is 'positional_embedding_res'"):
        load_longclip(write(tmp_path / "dropped.pt", released))
    ids = golden["token_ids"]
    before = whole.clip.encode_text(ids)
    whole.clip.positional_embedding.copy_(released["positional_embedding"])
    change = (whole.clip.encode_text(ids) - before).abs().amax(-1)
    assert change[0] < 1e-6 and (change[1:] > 1e-3).all()
    assert not torch.equal(second[KEPT:], released["positional_embedding"][KEPT:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_an_untrained_tail_is_refused(released, dtype, tmp_path):
    table = stretch_positions(released["positional_embedding"][:77]).to(dtype)
    table[:KEPT] += 1  # the kept rows may have been trained
    one = {name: value for name, value in released.items() if name != SECOND} | {"positional_embedding": table}
    with pytest.raises(ValueError, match="the untrained interpolation"):
        load_longclip(write(tmp_path / "one.pt", one))
    with pytest.raises(ValueError, match="20 to 247 are the untrained interpolation of 57 rows"):
        load_longclip(write(tmp_path / "two.pt", {**one, SECOND: table}))
    table[200] *= 1.05
    assert load_longclip(write(tmp_path / "trained.pt", {**one, SECOND: table})).context == 248


def test_merging_takes_the_prefix_of_one_and_the_tail_of_the_other(released):
    before = {name: value.clone() for name, value in released.items()}
    merged = merge_positions(released)
    assert torch.equal(merged["positional_embedding"][:KEPT], before["positional_embedding"][:KEPT])
    assert torch.equal(merged["positional_embedding"][KEPT:], before[SECOND][KEPT:])
    assert SECOND not in merged and merged.keys() | {SECOND} == released.keys() == before.keys()
    assert all(torch.equal(released[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("model", "keys", "parameters"),
    [("ViT-B-16-quickgelu", 303, 149_835_265), ("ViT-L-14-quickgelu", 447, 427_938_305)],
)
def test_the_released_layouts_are_open_clips_models(model, keys, parameters):
    """Shapes alone, on the meta device; the counts are those of the released files."""
    package = open_clip()
    config = package.get_model_config(model)
    with torch.device("meta"):
        layout = package.model.CLIP(**config).state_dict()
        long = torch.empty(248, config["text_cfg"]["width"])
        state = {**layout, "positional_embedding": long, SECOND: torch.empty_like(long)}
        assert len(state) == keys and sum(value.numel() for value in state.values()) == parameters
        merged = {name: value for name, value in state.items() if name != SECOND}
        found = architecture_of(merged)
        package.model.CLIP(**found).load_state_dict(merged, strict=True, assign=True)
    assert found == {**config, "text_cfg": {**config["text_cfg"], "context_length": 248}}


def test_half_precision_becomes_full(released, tmp_path):
    half = {name: value.half() for name, value in released.items()}
    save_file(half, tmp_path / "half.safetensors")
    clip = load_longclip(str(tmp_path / "half.safetensors")).clip
    assert {weight.dtype for weight in clip.parameters()} == {torch.float32}
    assert torch.equal(clip.visual.proj, half["visual.proj"].float())


def test_as_a_backbone_of_the_config(no_network, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    entry = {"kind": "longclip", "weights": str(TINY), "context": 248, "transform": {**TRANSFORM, "size": 32}}
    backbone = backbone_from(entry)
    assert backbone.context == 248 and backbone.architecture["quick_gelu"] and backbone.preprocess.size == 32
    with pytest.raises(ValueError, match="size: 16 in the config, 32 in the checkpoint"):
        backbone_from({**entry, "transform": TRANSFORM})


def test_a_file_on_the_hub_is_read_from_the_cache_or_the_message_names_the_way_out(no_network, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    weights = "hub:BeichenZhang/LongCLIP-B/longclip-B.pt"
    with pytest.raises(FileNotFoundError, match=f"{weights} is not in the hub's cache.*set `weights`.*to the file"):
        load_longclip(weights)
    cached = tmp_path / "models--BeichenZhang--LongCLIP-B"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("c0ffee")
    (cached / "snapshots" / "c0ffee").mkdir(parents=True)
    (cached / "snapshots" / "c0ffee" / "longclip-B.pt").write_bytes(TINY.read_bytes())
    assert load_longclip(weights).context == 248
    with pytest.raises(ValueError, match="names no file on the hub; expected hub:OWNER/REPO/FILE"):
        load_longclip("hub:BeichenZhang/LongCLIP-B")


def wrapped(state):
    return {"epoch": 1, "state_dict": state}


def prefixed(state):
    return {f"module.{name}": value for name, value in state.items()}


def without_a_block(state):
    return {name: value for name, value in state.items() if name != "visual.transformer.resblocks.1.ln_1.bias"}


def another_activation(state):
    return {**state, "logit_bias": torch.zeros(())}


def short_tables(state):
    return {**state, SECOND: state[SECOND][:77], "positional_embedding": state["positional_embedding"][:77]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (wrapped, r"no released Long-CLIP file: .*got 2 entries \(epoch, state_dict\)"),
        (prefixed, r"no released Long-CLIP file: .*got 63 entries \(module\."),
        (lambda state: list(state), "got a list"),
        (without_a_block, "lacking: visual.transformer.resblocks.1.ln_1.bias"),
        (another_activation, "not of the model: logit_bias"),
        (short_tables, r"tables of \[77, 64\] and \[77, 64\]; released Long-CLIP files have two of 248 rows"),
    ],
)
def test_other_layouts_are_refused_saying_what_came(released, change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_longclip(write(tmp_path / "other.pt", change(released)))


def test_files_that_hold_no_weights_are_refused(tmp_path):
    (tmp_path / "junk.pt").write_text("no weights")
    (tmp_path / "junk.safetensors").write_text("no weights")
    for name in ("junk.pt", "junk.safetensors"):
        with pytest.raises(ValueError, match=f"{name} is no file of weights"):
            load_longclip(str(tmp_path / name))
    with pytest.raises(FileNotFoundError, match="no Long-CLIP weights at"):
        load_longclip(str(tmp_path / "missing.pt"))


def test_a_released_file_given_as_open_clips_is_sent_to_its_own_kind(released, tmp_path):
    path = write(tmp_path / "longclip-B.pt", released)
    with pytest.raises(ValueError, match="released Long-CLIP file.*kind `longclip`"):
        load_open_clip("ViT-B-16-quickgelu", path)
