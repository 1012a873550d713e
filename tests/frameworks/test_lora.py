"""LoRA and DoRA as frameworks: what they train, where they start, and that both adapt the same layers."""

from copy import deepcopy

import pytest
import torch
from world import BACKBONE

from hnclip import gradients
from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.attention import PROJECTIONS
from hnclip.models.load import backbone_from

KINDS = ("lora", "dora")
N = 5


def made(kind: str, **options):
    plain = backbone_from(BACKBONE)
    torch.manual_seed(7)
    return create(kind, deepcopy(plain), options).train(), plain


def batch() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "image": torch.randint(0, 256, (N, 16, 16, 3), dtype=torch.uint8, generator=generator),
        "text": torch.randint(1, 500, (N, 12), generator=generator),
        "text_length": torch.tensor([12, 4, 9, 12, 6]),
    }


def losses(framework, z):
    step = Step(torch.arange(N), 0, 1, 0.0)
    return framework.losses(z, step, contrastive(LossEntry(), torch.Generator()))


def take_steps(framework, count: int, lr: float = 0.03) -> list[float]:
    update = torch.optim.AdamW(list(framework.parameter_groups(lr)), weight_decay=0.01)
    found = []
    for _ in range(count):
        loss = sum(losses(framework, framework(batch())).values())
        loss.backward()
        update.step()
        update.zero_grad()
        found.append(loss.item())
    return found


def gradient_of(framework, gradient) -> dict[str, torch.Tensor]:
    framework.zero_grad()
    gradient(framework, lambda z: losses(framework, z), batch(), torch.Tensor.backward, 1.0)
    return {name: weight.grad.clone() for name, weight in framework.named_parameters() if weight.requires_grad}


@pytest.mark.parametrize("kind", KINDS)
def test_training_starts_at_the_backbone(kind):
    framework, plain = made(kind)
    rows = batch()
    with torch.no_grad():
        z = framework(rows)
        expected = plain.image(rows["image"])[0], plain.text(rows["text"], rows["text_length"])[0]
    torch.testing.assert_close((z["image"], z["text"]), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_adapters_change(kind):
    framework, plain = made(kind)
    before = deepcopy(framework.state_dict())
    found = take_steps(framework, 6)
    assert found[-1] < found[0]
    moved = {name for name, value in framework.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == {name for name in before if ".lora_" in name}
    assert not framework.backbone.clip.logit_scale.requires_grad
    groups = list(framework.parameter_groups(0.5))
    assert len(groups) == 1 and groups[0]["lr"] == 0.5 and len(groups[0]["params"]) == len(moved)
    weights = plain.clip.state_dict()
    for name, weight in framework.trained_backbone().clip.state_dict().items():
        adapted = name.endswith(("in_proj_weight", "out_proj.weight"))
        assert torch.equal(weight, weights[name]) != adapted, name


def test_both_adapt_the_four_projections_of_every_block_alike():
    targets = {}
    for kind in KINDS:
        framework, _ = made(kind)
        weights = framework.extra_weights()
        targets[kind] = {name: weight for name, weight in weights.items() if "magnitude" not in name}
        assert {name.split(".")[-3] for name in targets[kind]} == set(PROJECTIONS)
        blocks = [f"{tower}transformer.resblocks.{n}.attn" for tower in ("", "visual.") for n in (0, 1)]
        assert {name.rsplit(".", 3)[0] for name in targets[kind]} == set(blocks)
        assert all(min(weight.shape) == 16 for weight in targets[kind].values())
        norms = [name for name in weights if name.endswith("lora_magnitude_vector")]
        assert len(norms) == (16 if kind == "dora" else 0)
    assert list(targets["lora"]) == list(targets["dora"])
    assert all(torch.equal(targets["lora"][name], targets["dora"][name]) for name in targets["lora"])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_embeds_as_what_was_trained(kind):
    framework, _ = made(kind, rank=4, alpha=8)
    take_steps(framework, 4)
    rows = batch()
    backbone = framework.trained_backbone()
    with torch.no_grad():
        z = framework(rows)
        saved = backbone.image(rows["image"])[0], backbone.text(rows["text"], rows["text_length"])[0]
    torch.testing.assert_close(saved, (z["image"], z["text"]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_global_generator_draws_the_adapters(kind):
    first, again = made(kind)[0].extra_weights(), made(kind)[0].extra_weights()
    assert all(torch.equal(first[name], again[name]) for name in first)
    torch.manual_seed(8)
    other = create(kind, backbone_from({**BACKBONE, "seed": 2}), {}).extra_weights()
    drawn = [name for name in first if "lora_A" in name]
    assert len(drawn) == 16 and not any(torch.equal(first[name], other[name]) for name in drawn)


@pytest.mark.parametrize("kind", KINDS)
def test_chunked_gradients_are_whole_ones_and_reach_every_adapter(kind):
    framework = made(kind)[0].double()
    with torch.no_grad():  # at the start B is zero, and A gets no gradient
        for name, weight in framework.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.1)
    whole = gradient_of(framework, gradients.whole)
    chunked = gradient_of(framework, lambda *given: gradients.chunked(*given, chunk=2))
    assert whole.keys() == chunked.keys() and all(value.abs().max() > 0 for value in whole.values())
    for name, value in whole.items():
        torch.testing.assert_close(chunked[name], value, rtol=1e-4, atol=1e-6 * value.abs().max().item())


@pytest.mark.parametrize("kind", KINDS)
def test_it_trains_under_bf16_autocast(kind):
    framework, _ = made(kind)
    rows = batch()
    with torch.no_grad():
        exact = framework(rows)["text"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = framework(rows)["text"]
        loss = sum(losses(framework, framework(rows)).values())
    assert (exact - rounded).abs().max() < 0.03
    loss.backward()
    trained = [weight for weight in framework.parameters() if weight.requires_grad]
    assert all(weight.dtype == torch.float32 and weight.grad.isfinite().all() for weight in trained)


def test_a_rank_below_one_is_refused():
    with pytest.raises(ValueError, match="options of framework lora.*rank is 0 and alpha is -1"):
        create("lora", None, {"rank": 0, "alpha": -1})
