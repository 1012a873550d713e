"""Adapters on a backbone: merged, saved in peft's format, rebuilt, each with the embeddings of the live model."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import normalize
from world import ARCHITECTURE, BACKBONE

from hnclip.models.adapters import adapter_weights, adapters_from, add_adapters, merged, write_peft_adapter
from hnclip.models.load import backbone_from
from hnclip.models.to_transformers import clip_model

PIXELS = torch.randint(0, 256, (3, 16, 16, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
START, END = 49406, 49407
WORDS = torch.tensor([[START, 5, 6, 7, END, 0], [START, 9, END, 0, 0, 0], [START, 4, 3, 2, 1, END]])
LENGTHS = torch.tensor([5, 3, 6])


def embed(backbone) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat([backbone.image(PIXELS)[0], backbone.text(WORDS, LENGTHS)[0]])


def trained(dora: bool):
    """An adapted backbone after a few steps that moved every adapter, and the plain one it started from."""
    plain = backbone_from(BACKBONE)
    torch.manual_seed(3)
    backbone = add_adapters(deepcopy(plain), rank=4, alpha=8, dora=dora)
    update = torch.optim.AdamW([weight for weight in backbone.parameters() if weight.requires_grad], lr=0.05)
    for _ in range(4):
        cosines = backbone.image(PIXELS)[0] @ backbone.text(WORDS, LENGTHS)[0].T
        nn.functional.cross_entropy(10 * cosines, torch.arange(3)).backward()
        update.step()
        update.zero_grad()
    return backbone.eval(), plain.eval()


@pytest.fixture(scope="module", params=[False, True], ids=["lora", "dora"])
def pair(request):
    return *trained(request.param), request.param


def test_merged_is_plain_and_embeds_as_the_live_model(pair):
    backbone, plain, _ = pair
    before = deepcopy(backbone.state_dict())
    joined = merged(backbone)
    assert list(joined.clip.state_dict()) == list(plain.clip.state_dict())
    assert (embed(plain) - embed(backbone)).abs().max() > 0.01
    torch.testing.assert_close(embed(joined), embed(backbone), rtol=0, atol=1e-5)
    assert not hasattr(joined.clip, "peft_config")
    after = backbone.state_dict()
    assert list(after) == list(before) and all(torch.equal(before[name], after[name]) for name in before)


def test_the_adapters_on_the_plain_backbone_are_the_live_model(pair):
    backbone, plain, dora = pair
    before, random = embed(plain), torch.get_rng_state()
    again = adapters_from(plain, adapter_weights(backbone), rank=4, alpha=8, dora=dora)
    assert torch.equal(embed(again), embed(backbone))
    assert torch.equal(embed(plain), before) and torch.equal(torch.get_rng_state(), random)


def test_adapters_that_do_not_fit_are_refused_naming_each(pair):
    backbone, plain, dora = pair
    weights = adapter_weights(backbone)
    first, *_, last = weights
    with pytest.raises(ValueError, match=f"{first} is missing; other is not a weight"):
        adapters_from(plain, {**{n: weights[n] for n in weights if n != first}, "other": weights[last]}, 4, 8, dora)
    with pytest.raises(ValueError, match=r"rank 2 .*q_proj.lora_A.weight is \[4, 16\], not \[2, 16\]"):
        adapters_from(plain, weights, 2, 8, dora)
    with pytest.raises(ValueError, match="magnitude_vector is"):
        adapters_from(plain, weights, 4, 8, not dora)


def test_a_backbone_without_adapters_cannot_be_merged():
    with pytest.raises(ValueError, match="has no adapters"):
        merged(backbone_from(BACKBONE))


def test_peft_loads_the_written_adapter_onto_transformers_model(pair, tmp_path):
    from peft import PeftModel

    backbone, plain, dora = pair
    write_peft_adapter(tmp_path / "adapter", backbone, "some/base")
    record = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert (record["base_model_name_or_path"], record["r"], record["lora_alpha"]) == ("some/base", 4, 8)
    assert record["use_dora"] == dora and record["peft_type"] == "LORA"
    assert len(load_file(tmp_path / "adapter" / "adapter_model.safetensors")) == 16 * (3 if dora else 2)
    model = PeftModel.from_pretrained(clip_model(plain), tmp_path / "adapter").eval()
    pixels = (PIXELS.permute(0, 3, 1, 2) / 255 - plain.mean) / plain.std
    with torch.no_grad():
        out = model(input_ids=WORDS, pixel_values=pixels)
    theirs = normalize(torch.cat([out.image_embeds, out.text_embeds]), dim=-1)
    torch.testing.assert_close(theirs, embed(backbone), rtol=0, atol=1e-5)


def test_an_attention_that_does_not_fit_is_refused_before_the_model_is_changed():
    from hnclip.models.checkpoints import build

    vision = {**ARCHITECTURE["vision_cfg"], "qk_norm": True}
    backbone = build({**ARCHITECTURE, "vision_cfg": vision}, backbone_from(BACKBONE).preprocess)
    names = list(backbone.state_dict())
    with pytest.raises(ValueError, match="cannot be split"):
        add_adapters(backbone, 4, 8, dora=False)
    assert list(backbone.state_dict()) == names and all(weight.requires_grad for weight in backbone.parameters())


@pytest.mark.slow
def test_peft_is_imported_only_when_adapters_are_made_and_works_beside_a_light_open_clip():
    code = (
        "import sys\nimport hnclip.models.adapters as adapters\n"
        "from hnclip.models.load import backbone_from\nfrom world import BACKBONE\n"
        "backbone = backbone_from(BACKBONE)\n"
        "assert not {'peft', 'transformers'} & set(sys.modules)\n"
        "adapters.add_adapters(backbone, 2, 2, dora=True)\n"
        "assert 'peft' in sys.modules\nprint('done')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.stdout == "done\n", done.stderr
