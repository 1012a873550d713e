"""transformers' CLIPModel with its processor embeds texts and pictures as the backbone does."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import cosine_similarity, normalize
from world import ARCHITECTURE, SIZE

from hnclip.data.images import Transform, transform_image
from hnclip.data.tokens import tokenize
from hnclip.models.backbone import Preprocess
from hnclip.models.checkpoints import build
from hnclip.models.longclip import load_longclip
from hnclip.models.to_transformers import clip_model, write_clip_model, write_processor

CAPTIONS = ["A cat!", "seven small boats, e.g. the café's " * 20, "red", "a brown dog on a mat " * 60]
MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


def picture(width=SIZE * 5, height=SIZE * 3):
    """A smooth picture, wider than high."""
    across, down = np.meshgrid(np.linspace(0, 6, width), np.linspace(0, 4, height))
    channels = [np.sin(across), np.cos(down), np.sin(across * down / 3)]
    return Image.fromarray(((np.stack(channels, -1) + 1) * 127).astype(np.uint8))


def ours(backbone, image, captions):
    transform = Transform(SIZE, backbone.preprocess.interpolation, backbone.preprocess.resize)
    pixels = torch.from_numpy(transform_image(image, transform).copy())[None]
    tokens = tokenize(captions, "clip", backbone.context)
    return backbone.image(pixels)[0], backbone.text(*tokens.batch(np.arange(len(captions))))[0]


@torch.no_grad()
@pytest.mark.parametrize(("resize", "interpolation"), [("shortest", "bicubic"), ("squash", "bilinear")])
def test_model_and_processor_embed_as_the_backbone(tmp_path, resize, interpolation):
    from transformers import CLIPModel, CLIPProcessor

    torch.manual_seed(3)
    backbone = build(ARCHITECTURE, Preprocess(SIZE, MEAN, STD, interpolation, resize)).eval()
    backbone.stretch_text(248)
    write_clip_model(tmp_path, backbone)
    write_processor(tmp_path, backbone.preprocess, backbone.context)
    model, processor = CLIPModel.from_pretrained(tmp_path), CLIPProcessor.from_pretrained(tmp_path)
    inputs = processor(text=CAPTIONS, images=picture(), return_tensors="pt", padding=True, truncation=True)
    assert inputs["input_ids"].shape == (4, 248) and len(set(inputs["attention_mask"].sum(1).tolist())) == 4
    theirs = model.eval()(**inputs)
    image_ND, text_ND = ours(backbone, picture(), CAPTIONS)
    assert (1 - cosine_similarity(theirs.image_embeds, image_ND)).max() < 1e-5
    assert (1 - cosine_similarity(theirs.text_embeds, text_ND)).max() < 1e-5
    torch.testing.assert_close(theirs.logits_per_text, backbone.scale() * text_ND @ image_ND.T, rtol=1e-3, atol=1e-2)


@torch.no_grad()
@pytest.mark.parametrize(("activation", "name"), [({}, "gelu"), ({"approximate": "tanh"}, "gelu_pytorch_tanh")])
def test_the_weights_give_equal_features(activation, name):
    """Other activations, mlp width and epsilon than OpenAI's; pad ids 0, and 0 inside a caption."""
    torch.manual_seed(5)
    vision = {**ARCHITECTURE["vision_cfg"], "mlp_ratio": 2.0, "act_kwargs": activation}
    text = {**ARCHITECTURE["text_cfg"], "norm_kwargs": {"eps": 1e-3}}
    architecture = {**ARCHITECTURE, "vision_cfg": vision, "text_cfg": text, "quick_gelu": False}
    backbone = build(architecture, Preprocess(SIZE, MEAN, STD)).eval()
    model = clip_model(backbone)
    assert model.config.vision_config.hidden_act == name and model.config.text_config.hidden_act == "gelu"
    pixels = torch.randn(2, 3, SIZE, SIZE)
    ids = torch.tensor([[49406, 320, 1929, 49407, 0, 0], [49406, 0, 5, 7, 9, 49407]])
    image, text = backbone.clip.encode_image(pixels), backbone.clip.encode_text(torch.nn.functional.pad(ids, (0, 71)))
    torch.testing.assert_close(model.get_image_features(pixels).pooler_output, image, rtol=0, atol=2e-6)
    torch.testing.assert_close(model.get_text_features(ids).pooler_output, text, rtol=0, atol=2e-6)


@torch.no_grad()
def test_a_released_long_clip_file_becomes_transformers():
    """One head a tower, a vocabulary of its own, 248 positions."""
    golden = Path(__file__).parents[1] / "golden"
    model = clip_model(load_longclip(str(golden / "longclip_tiny_checkpoint.pt")))
    with np.load(golden / "longclip_tiny_checkpoint.npz") as file:
        ids, image = torch.from_numpy(file["token_ids"]), torch.from_numpy(file["image"])
        text_ND, image_ND = torch.from_numpy(file["text_features"]), torch.from_numpy(file["image_features"])
    theirs = model(input_ids=ids, pixel_values=image)
    torch.testing.assert_close(theirs.text_embeds, normalize(text_ND, dim=-1), rtol=0, atol=1e-5)
    torch.testing.assert_close(theirs.image_embeds, normalize(image_ND, dim=-1), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("vision", "message"),
    [
        ({"ls_init_value": 0.1}, "no place for visual.transformer.resblocks.0.ls_1.gamma"),
        ({"no_ln_pre": True}, "does not fit this backbone; lacking: vision_model.pre_layrnorm.weight"),
    ],
)
def test_what_transformers_cannot_hold_is_refused(vision, message):
    architecture = {**ARCHITECTURE, "vision_cfg": {**ARCHITECTURE["vision_cfg"], **vision}}
    with pytest.raises(ValueError, match=message):
        clip_model(build(architecture, Preprocess(SIZE, MEAN, STD)))


def test_another_activation_or_mixed_epsilons_are_refused():
    clip = (backbone := build(ARCHITECTURE, Preprocess(SIZE, MEAN, STD))).clip
    clip.transformer.resblocks[0].mlp.gelu = torch.nn.ReLU()
    clip.ln_final.eps = 1e-3
    with pytest.raises(ValueError, match=r"the text tower's .*epsilon \[1e-05, 0.001\] and activation ReLU"):
        clip_model(backbone)
