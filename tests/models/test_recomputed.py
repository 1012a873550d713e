"""Recomputed activations: every framework's gradient to the bit, chunked or not, from less kept memory."""

import copy

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from world import BACKBONE, entry_of, make_inputs, make_split

from hnclip import frameworks
from hnclip.data.split import open_split
from hnclip.frameworks.base import Step
from hnclip.gradients import chunked, whole
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from
from hnclip.models.recomputed import recompute_blocks

LAYERS, ROWS = 4, 6
DEEP = copy.deepcopy(BACKBONE)
for tower in ("vision_cfg", "text_cfg"):
    DEEP["architecture"][tower]["layers"] = LAYERS
PLAIN = contrastive(LossEntry(), torch.Generator())
KINDS = frameworks.on_towers()


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """A batch with the inputs of all frameworks."""
    record = make_split(tmp_path_factory.mktemp("world"), "train", ROWS)
    found = {}
    for kind in KINDS:
        entry = entry_of(kind)
        make_inputs(record, entry)
        split = open_split(record, entry, BACKBONE["transform"])
        found |= split.pair_batch(torch.arange(ROWS).numpy(), split.caption_start[:ROWS])
    return found


def kept_bytes(call) -> int:
    """What is newly allocated when `call` has returned and its result is held."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        result = call()
    assert result is not None
    return sum(event.nbytes() for event in seen.profiler.kineto_results.events() if event.name() == "[memory]")


def gradient(framework, batch, take, **given):
    framework.zero_grad()
    losses = lambda z: framework.losses(z, Step(torch.arange(ROWS), 1, 2, 0.5), PLAIN)  # noqa: E731
    take(framework, losses, batch, torch.Tensor.backward, 1.0, **given)
    return {name: weight.grad for name, weight in framework.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_the_same_to_the_bit_and_less_is_kept(batch, kind):
    plain = frameworks.create(kind, backbone_from(DEEP), entry_of(kind)["options"]).train()
    again = copy.deepcopy(plain)
    recompute_blocks(again.backbone.clip)
    own = {name: batch[name] for name in plain.fields}
    for take, given in ((whole, {}), (chunked, {"chunk": 4})):
        expected, found = gradient(plain, own, take, **given), gradient(again, own, take, **given)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert kept_bytes(lambda: again(own)) < 0.6 * kept_bytes(lambda: plain(own))


def test_other_towers_are_refused():
    backbone = backbone_from(BACKBONE)
    backbone.clip.visual.transformer = nn.Identity()
    with pytest.raises(ValueError, match="activations of visual.transformer cannot be recomputed"):
        recompute_blocks(backbone.clip)
    assert not backbone.clip.transformer.grad_checkpointing
