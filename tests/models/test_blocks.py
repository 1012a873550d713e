"""Lean towers against open_clip's own: outputs, gradients of every weight, and what is asked for in part."""

from copy import deepcopy

import pytest
import torch
from torch.nn.functional import normalize
from world import ARCHITECTURE

from hnclip.models.asked import Asked
from hnclip.models.attention import split_attention
from hnclip.models.backbone import Preprocess
from hnclip.models.blocks import QuickGELU
from hnclip.models.checkpoints import OPENAI_MEAN, OPENAI_STD, build
from hnclip.models.openclip import open_clip

LENGTHS = torch.tensor([9, 2, 5, 9])
IDS = torch.randint(1, 500, (4, 9), generator=torch.Generator().manual_seed(1)) * (torch.arange(9) < LENGTHS[:, None])
PIXELS = torch.randint(0, 256, (4, 16, 16, 3), generator=torch.Generator().manual_seed(2), dtype=torch.uint8)


def changed(**changes):
    """The tests' architecture with changes in both towers."""
    towers = ("vision_cfg", "text_cfg")
    return {**ARCHITECTURE, **{tower: {**ARCHITECTURE[tower], **changes} for tower in towers}}


def backbone_of(architecture=ARCHITECTURE):
    torch.manual_seed(0)
    return build(architecture, Preprocess(architecture["vision_cfg"]["image_size"], OPENAI_MEAN, OPENAI_STD)).double()


def theirs(backbone):
    """open_clip's own model with the same weights, and its embeddings of the same pairs."""
    clip = open_clip().model.CLIP(**backbone.architecture).double()
    clip.load_state_dict(backbone.clip.state_dict())
    standard = (PIXELS.permute(0, 3, 1, 2).double() / 255 - backbone.mean) / backbone.std
    visual = clip.visual
    image_ND = visual.ln_post(visual.transformer(visual._embeds(standard))[:, 0]) @ visual.proj
    words = clip.transformer(
        clip.token_embedding(IDS) + clip.positional_embedding[:9], attn_mask=clip.attn_mask[:9, :9]
    )
    text_ND = clip.ln_final(words[torch.arange(4), LENGTHS - 1]) @ clip.text_projection
    return clip, normalize(image_ND, dim=-1), normalize(text_ND, dim=-1)


def asked(tokens):
    """Some tokens of the first two rows: none but the pooled one of the first, and of the second padding too."""
    return torch.stack([torch.zeros(tokens, dtype=torch.bool), torch.arange(tokens) % 3 == 1])


def pull(image_ND, text_ND):
    """A number that every part of both embeddings weighs in."""
    weights_D = torch.arange(image_ND.shape[1]).double().cos()
    return ((image_ND @ text_ND.T).tanh().sum(0) * torch.arange(4)).sum() + (
        (image_ND - text_ND).square() @ weights_D
    ).sum()


@pytest.mark.parametrize("changes", [{}, {"ls_init_value": 0.1}, {"qk_norm": True}], ids=["plain", "scaled", "odd"])
@pytest.mark.parametrize("states", [None, 0, 2, "some"])
def test_embeddings_and_gradients_are_open_clips(changes, states):
    backbone = backbone_of(changed(**changes))
    assert backbone.lean_text == backbone.lean_image == ("qk_norm" not in changes)
    clip, *expected = theirs(backbone)
    of_image, of_text = (asked(5), asked(9)) if states == "some" else (states, states)
    image_ND, patches = backbone.image(PIXELS, states=of_image)
    text_ND, words = backbone.text(IDS, LENGTHS, states=of_text)
    assert len(patches) == len(words) == {None: 4, "some": 2}.get(states, states)
    tolerance = {"rtol": 1e-5, "atol": 1e-6}  # embeddings are handed on in single precision
    torch.testing.assert_close([image_ND, text_ND], [part.float() for part in expected], **tolerance)
    pull(image_ND.double(), text_ND.double()).backward()
    pull(*expected).backward()
    own = dict(backbone.clip.named_parameters())
    for name, weight in clip.named_parameters():
        if weight.grad is not None:
            torch.testing.assert_close(own[name].grad, weight.grad, rtol=1e-4, atol=1e-5, msg=name)


def test_states_of_some_rows_are_those_of_all():
    backbone = backbone_of()
    for whole, some in (
        (backbone.image(PIXELS)[1], backbone.image(PIXELS, states=3)[1]),
        (backbone.text(IDS, LENGTHS)[1], backbone.text(IDS, LENGTHS, states=3)[1]),
    ):
        torch.testing.assert_close(some, whole[:3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", ["one_by_one", "padded"])
def test_states_of_some_tokens_and_their_gradients_are_those_of_all(monkeypatch, way):
    monkeypatch.setattr(Asked, "mixed", getattr(Asked, way))
    backbone = backbone_of()
    of_image, of_text = asked(5), asked(9)
    read = of_image, of_text & (torch.arange(9) < LENGTHS[:2, None])
    found = []
    for wanted in ((None, None), (of_image, of_text)):
        image_ND, patches = backbone.image(PIXELS, states=wanted[0])
        text_ND, words = backbone.text(IDS, LENGTHS, states=wanted[1])
        states = [part[:2][mask] for part, mask in zip((patches, words), read, strict=True)]
        backbone.zero_grad()
        (sum(part.cos().sum() for part in states) + pull(image_ND.double(), text_ND.double())).backward()
        found.append((*states, [weight.grad for name, weight in backbone.named_parameters() if "scale" not in name]))
    torch.testing.assert_close(found[1], found[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("change", ["recomputed", "split"])
def test_recomputed_blocks_and_split_attention_give_the_same(change):
    backbone = backbone_of()
    other = deepcopy(backbone)
    if change == "split":
        split_attention(other.clip)
    else:
        other.clip.set_grad_checkpointing(True)
    gradients = []
    for each in (backbone, other):
        image_ND, text_ND = each.image(PIXELS, states=asked(5))[0], each.text(IDS, LENGTHS, states=1)[0]
        pull(image_ND.double(), text_ND.double()).backward()
        gradients.append((image_ND, text_ND, each.clip.token_embedding.weight.grad, each.clip.visual.conv1.weight.grad))
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-5, atol=1e-7)


def test_the_activation_is_x_sigmoid():
    states = torch.linspace(-30, 30, 41, dtype=torch.float64).requires_grad_()
    torch.testing.assert_close(QuickGELU()(states), states * torch.sigmoid(1.702 * states), rtol=1e-12, atol=1e-15)
    assert torch.autograd.gradcheck(QuickGELU(), states)


def test_a_block_refuses_other_keys():
    block, states = backbone_of().clip.transformer.resblocks[0], torch.zeros(1, 2, 8)
    with pytest.raises(ValueError, match="leave out k_x"):
        block(states, states)
