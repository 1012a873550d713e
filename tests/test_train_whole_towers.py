"""Training towers that are taken whole: it runs, and is refused before anything is trained where it cannot."""

import copy
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file
from world import ARCHITECTURE, BACKBONE, make_cell

from hnclip import train
from hnclip.check import check
from hnclip.models.load import backbone_from
from hnclip.plan.memory import UNKNOWN, megabytes
from hnclip.plan.runtime import Minutes
from hnclip.plan.towers import towers

ROOT = Path(__file__).parents[1]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
TEXT = {**ARCHITECTURE["text_cfg"], "context_length": 248, "no_causal_mask": True}
WHOLE = {**BACKBONE, "architecture": {**ARCHITECTURE, "text_cfg": TEXT, "init_logit_bias": -10.0, "custom_text": True}}
SIGLIP = {
    "kind": "open_clip",
    "model": "ViT-B-16-SigLIP2",
    "pretrained": "webli",
    "context": 64,
    "tokenizer": "open_clip:ViT-B-16-SigLIP2",
    "transform": {"size": 224, "interpolation": "bicubic", "resize": "squash", "exif": "ignore"},
}


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.fixture
def config() -> dict:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["backbones"]["siglip"] = copy.deepcopy(SIGLIP)
    return config


@pytest.mark.slow
def test_a_cell_is_trained_in_chunks_as_in_one_piece(tmp_path):
    found = []
    for chunk in (None, 2):
        path, run = make_cell(tmp_path / str(chunk), backbone=WHOLE, recipe={"chunk": chunk, "epochs": 1})
        train.main(path, run)
        found.append(load_file(run / "weights.safetensors"))
    assert "text.token_embedding.weight" in found[0] and found[0]["logit_bias"] == -10
    start = backbone_from(WHOLE).weights()
    assert not torch.equal(found[0]["text.text_projection"], start["text.text_projection"])
    for name, value in found[0].items():
        if name.endswith("in_proj_bias"):  # of keys, whose gradient is rounding alone, and AdamW makes steps of it
            continue
        torch.testing.assert_close(value, found[1][name], atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"framework": {"kind": "hnclip"}}, "'hnclip' needs the states of single patches and words"),
        slow({"recipe": {"checkpoint_activations": True}}, "cannot be recomputed"),
        slow({"backbone": {**WHOLE, "context": 77}}, "248 positions, which are not stretched to 77"),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_step(tmp_path, changes, said):
    path, run = make_cell(tmp_path, **{"backbone": WHOLE, "pairs": 5, **changes})
    with pytest.raises(ValueError, match=said):
        train.main(path, run)
    assert [file.name for file in run.iterdir()] == ["config.json"]


def test_the_check_names_each_pair_that_cannot_be(config):
    config["grids"]["frameworks"]["backbones"] = ["tiny", "siglip"]
    config["recipe"]["checkpoint_activations"] = True
    with pytest.raises(ValueError) as error:
        check(config, SCHEMA)
    said = [line.strip() for line in str(error.value).splitlines()[1:]]
    pairs = {line.split(":")[0] for line in said if "needs" in line}
    assert pairs == {
        f"frameworks.{name} with backbones.siglip" for name in ("finelip", "goal", "structxlip", "lora", "dora")
    }
    assert any("longclip with backbones.siglip: `checkpoint_activations`" in line for line in said)
    config["grids"]["frameworks"]["frameworks"] = ["longclip"]
    config["recipe"]["checkpoint_activations"] = False
    check(config, SCHEMA)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"context": 248}, r"backbones.siglip.context: .* 64 positions, which are not stretched; set 64"),
        ({"tokenizer": "clip"}, r"trained with another .*; set open_clip:ViT-B-16-SigLIP2"),
        ({"tokenizer": "klip"}, "unknown tokenizer 'klip'; known: clip, open_clip:MODEL"),
        ({"model": "coca_ViT-B-32"}, "backbones.siglip: it is no backbone, as it is a CoCa"),
        ({"model": "ViT-Q"}, "backbones.siglip.model: open_clip has no model 'ViT-Q'"),
        ({"model": "local-dir:nowhere"}, "nowhere is no model exported for open_clip"),
    ],
)
def test_a_backbone_at_fault_is_named_with_the_way_out(config, change, said):
    config["backbones"]["siglip"] |= change
    config["grids"]["main"]["backbones"] = ["siglip"]
    with pytest.raises(ValueError, match=said):
        check(config, SCHEMA)


def test_a_plan_says_what_it_does_not_count(config):
    from hnclip.cell import Cell
    from hnclip.plan.costs import cell_cost
    from hnclip.plan.devices import device

    found = towers(SIGLIP)
    assert not found.counted and found.embed_dim == 768 and megabytes(SIGLIP) == UNKNOWN
    cell = Cell("siglip", "scenes", "longclip", "hn", 100, 42)
    cost = cell_cost(config, cell, found, device("A100"))
    assert (cost.counted, cost.pairs, cost.flops) == (False, 768 * config["recipe"]["epochs"], 0)
    minutes = Minutes(config)
    assert minutes.training(cell) == minutes.embedding("siglip", "scenes", ["test"]) == 720
