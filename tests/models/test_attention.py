"""Split attention: open_clip's own outputs and gradients, and the way back bit for bit."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from world import ARCHITECTURE

from hnclip.models.attention import PROJECTIONS, SplitAttention, join_attention, split_attention
from hnclip.models.backbone import Preprocess
from hnclip.models.checkpoints import OPENAI_MEAN, OPENAI_STD, build
from hnclip.models.openclip import open_clip

N, T, W, HEADS = 3, 7, 12, 3


def changed(**changes):
    """The tests' architecture with changes in both towers."""
    towers = ("vision_cfg", "text_cfg")
    return {**ARCHITECTURE, **{tower: {**ARCHITECTURE[tower], **changes} for tower in towers}}


def backbone_of(architecture: dict):
    torch.manual_seed(0)
    return build(architecture, Preprocess(architecture["vision_cfg"]["image_size"], OPENAI_MEAN, OPENAI_STD))


def masks():
    causal = torch.full((T, T), float("-inf")).triu_(1)
    padded_NT = torch.arange(T) >= torch.tensor([T, 4, 1])[:, None]
    padded = padded_NT[:, None, None].expand(N, HEADS, T, T).reshape(N * HEADS, T, T)
    return {
        "none": None,
        "causal": causal.double(),
        "causal bool": causal.isinf(),
        "padding": torch.zeros(padded.shape).masked_fill(padded, float("-inf")).double(),
        "padding bool": padded,
    }


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("mask", masks())
def test_outputs_and_gradients_are_those_of_torchs_attention(mask, batch_first):
    torch.manual_seed(0)
    clip = nn.Sequential(nn.MultiheadAttention(W, HEADS, batch_first=batch_first, dtype=torch.float64))
    nn.init.normal_(clip[0].in_proj_bias)
    other = deepcopy(clip)
    split_attention(other)
    assert isinstance(other[0], SplitAttention)
    states = torch.randn(*((N, T) if batch_first else (T, N)), W, dtype=torch.float64)
    gradients = []
    for attention in (clip[0], other[0]):
        given = states.clone().requires_grad_()
        out, weights = attention(given, given, given, need_weights=False, attn_mask=masks()[mask])
        assert weights is None
        out.square().sum().backward()
        gradients.append((out.detach(), given.grad))
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-6, atol=1e-12)
    joined = clip[0].in_proj_weight.grad.chunk(3)
    for name, expected in zip(PROJECTIONS, [*joined, clip[0].out_proj.weight.grad], strict=True):
        torch.testing.assert_close(getattr(other[0], name).weight.grad, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("changes", [{}, {"ls_init_value": 0.1}])
def test_both_towers_embed_as_before_and_come_back_bit_for_bit(changes):
    backbone = backbone_of(changed(**changes))
    before, names = deepcopy(backbone.clip.state_dict()), list(backbone.clip.state_dict())
    pixels = torch.randint(0, 256, (2, 16, 16, 3), dtype=torch.uint8)
    words = (torch.randint(1, 500, (2, 9)), torch.tensor([9, 5]))
    expected = backbone.image(pixels)[0], backbone.text(*words)[0]
    split_attention(backbone.clip)
    assert sum(isinstance(module, SplitAttention) for module in backbone.modules()) == 4
    assert not any("in_proj" in name for name in backbone.clip.state_dict())
    torch.testing.assert_close((backbone.image(pixels)[0], backbone.text(*words)[0]), expected, rtol=0, atol=1e-6)
    join_attention(backbone.clip)
    assert list(backbone.clip.state_dict()) == names
    assert all(torch.equal(before[name], weight) for name, weight in backbone.clip.state_dict().items())
    assert all(weight.requires_grad for weight in backbone.parameters())


def test_the_architecture_of_clip_b_16_can_be_split_and_joined():
    with torch.device("meta"):
        clip = backbone_of(open_clip().get_model_config("ViT-B-16-quickgelu")).clip
        shapes = {name: weight.shape for name, weight in clip.state_dict().items()}
        split_attention(clip)
        assert clip.visual.transformer.resblocks[11].attn.q_proj.weight.shape == (768, 768)
        assert clip.transformer.resblocks[11].attn.heads == 8
        join_attention(clip)
    assert {name: weight.shape for name, weight in clip.state_dict().items()} == shapes


def test_frozen_weights_stay_frozen():
    clip = backbone_of(ARCHITECTURE).clip.requires_grad_(False)
    clip.transformer.requires_grad_(True)
    split_attention(clip)
    join_attention(clip)
    assert all(w.requires_grad == n.startswith("transformer.") for n, w in clip.named_parameters())


@pytest.mark.parametrize(
    ("attention", "fault"),
    [
        (lambda: nn.MultiheadAttention(W, HEADS, dropout=0.1), "1: dropout 0.1"),
        (lambda: nn.MultiheadAttention(W, HEADS, kdim=5), "1: keys or values of another width"),
        (lambda: nn.MultiheadAttention(W, HEADS, add_bias_kv=True), "1: a bias added"),
        (lambda: nn.MultiheadAttention(W, HEADS, add_zero_attn=True), "1: a zero added"),
        (lambda: SplitAttention(W, HEADS, True, True), "1: it is split already"),
    ],
)
def test_what_four_layers_cannot_stand_for_is_refused_before_anything_is_changed(attention, fault):
    clip = nn.Sequential(nn.MultiheadAttention(W, HEADS), attention())
    with pytest.raises(ValueError, match=fault):
        split_attention(clip)
    assert type(clip[0]) is nn.MultiheadAttention


def test_open_clips_own_attention_is_refused_naming_every_block():
    architecture = changed(qk_norm=True)
    clip = backbone_of(architecture).clip
    with pytest.raises(ValueError, match="visual.transformer.resblocks.0.attn: open_clip's own.*resblocks.1.attn"):
        split_attention(clip)
    with pytest.raises(ValueError, match="none of torch's"):
        split_attention(nn.Sequential(nn.Linear(2, 2)))


def test_attention_weights_and_unmerged_layers_are_refused():
    clip = nn.Sequential(nn.MultiheadAttention(W, HEADS, batch_first=True, bias=False))
    split_attention(clip)
    with pytest.raises(ValueError, match="need_weights=False"):
        clip[0](*[torch.zeros(1, 2, W)] * 3, need_weights=True)
    clip[0].k_proj = nn.Sequential(clip[0].k_proj)
    with pytest.raises(ValueError, match="0.k_proj are not plain"):
        join_attention(clip)
