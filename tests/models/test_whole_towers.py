"""Any CLIP of open_clip's as a backbone: its embeddings are open_clip's own, and what it lacks is refused in time."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from hnclip import frameworks, model_spec
from hnclip.architecture import fault, model_config, offers, openai_layout
from hnclip.data.tokens import tokenize
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.checkpoints import load_backbone, save_backbone
from hnclip.models.load import backbone_from
from hnclip.models.recomputed import recompute_blocks
from hnclip.models.whole_towers import WholeTowers
from hnclip.split_files import named_tokens, tokens_name
from hnclip.store import write_json, write_tensors

WORDS = ["a", "red", "blue", "circle", "square", "beside", "of", "the", "small", "large"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TRANSFORM = {"size": 32, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
CAPTIONS = ["a red circle", "the large blue square beside the small red circle of the square"]
VIT = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
BYTES = {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1}
BERT = {
    "model_type": "bert",
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 24,
    "vocab_size": len(SPECIAL + WORDS),
    "pad_token_id": 0,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A tokenizer and the configuration of a text tower, as a repository of the hub has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(BERT))
    return folder


def architecture(kind: str, folder: Path) -> dict:
    """Of a CLIP with one tower or both of another layout."""
    padded = {**BYTES, "vocab_size": len(SPECIAL + WORDS), "no_causal_mask": True, "pool_type": "last"}
    hub = {"hf_model_name": str(folder), "hf_pooler_type": "mean_pooler", "hf_proj_type": "linear"}
    found = {
        "siglip": {"vision_cfg": VIT, "text_cfg": {**padded, "proj_bias": True}, "init_logit_bias": -10.0},
        "hub": {"vision_cfg": VIT, "text_cfg": hub},
        "resnet": {"vision_cfg": {"image_size": 32, "layers": [1, 1, 1, 1], "width": 8}, "text_cfg": BYTES},
        "timm": {"vision_cfg": {"image_size": 32, "timm_model_name": "test_vit"}, "text_cfg": BYTES},
    }[kind]
    return {"embed_dim": 16, **({"custom_text": True} if kind in ("siglip", "hub") else {}), **found}


def entry(kind: str, folder: Path, **more) -> dict:
    own = kind in ("resnet", "timm")
    wide = 160 if kind == "timm" else 32  # what timm's own tiny model was made for
    return {
        "kind": "random",
        "architecture": architecture(kind, folder),
        "context": 16,
        "tokenizer": "clip" if own else f"hf:{folder}",
        "transform": {**TRANSFORM, "size": wide},
        **more,
    }


def built(kind: str, folder: Path) -> tuple[WholeTowers, dict]:
    given = entry(kind, folder)
    return backbone_from(given).eval(), given


@pytest.mark.parametrize(
    "kind", ["siglip", "resnet", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("hub", "timm"))]
)
def test_embeddings_are_open_clips_own_and_a_file_gives_them_back(kind, folder, tmp_path):
    from open_clip.tokenizer import HFTokenizer, SimpleTokenizer

    backbone, given = built(kind, folder)
    assert type(backbone) is WholeTowers and backbone.context == 16
    tokens = tokenize(CAPTIONS, given["tokenizer"], 16)
    theirs = SimpleTokenizer(context_length=16) if given["tokenizer"] == "clip" else HFTokenizer(str(folder), 16)
    size = backbone.preprocess.size
    pixels = torch.randint(0, 256, (2, size, size, 3), dtype=torch.uint8)
    scaled = (pixels.permute(0, 3, 1, 2) / 255 - backbone.mean) / backbone.std
    with torch.no_grad():
        text_ND, states = backbone.text(*tokens.batch([0, 1]), states=0)
        torch.testing.assert_close(text_ND[:1], backbone.text(*tokens.batch([0]), states=0)[0])
        torch.testing.assert_close(text_ND, normalize(backbone.clip.encode_text(theirs(CAPTIONS)), dim=-1))
        image_ND = backbone.image(pixels, states=0)[0]
        torch.testing.assert_close(image_ND, normalize(backbone.clip.encode_image(scaled), dim=-1))
        save_backbone(tmp_path / "w.safetensors", backbone, {})
        again = backbone_from(model_spec.backbone_entry(str(tmp_path / "w.safetensors")))
        assert (again.tokenizer, again.pad_id, again.context) == (given["tokenizer"], backbone.pad_id, 16)
        assert torch.equal(again.text(*tokens.batch([0, 1]), states=0)[0], text_ND)
        assert torch.equal(again.image(pixels, states=0)[0], image_ND)
    assert states.numel() == 0


def test_captions_are_filled_up_with_the_tokenizers_padding_to_the_whole_context(folder):
    backbone, _ = built("siglip", folder)
    backbone.pad_with(7)
    seen = []
    backbone.clip.encode_text = lambda ids: seen.append(ids) or torch.ones(len(ids), 16)
    backbone.text(torch.tensor([[2, 5, 3, 0], [2, 5, 6, 3]]), torch.tensor([3, 4]), states=0)
    assert seen[0].tolist() == [[2, 5, 3] + [7] * 13, [2, 5, 6, 3] + [7] * 12]


def test_what_is_cut_is_counted_and_ends_with_the_end_token(folder):
    tokens = tokenize(CAPTIONS, f"hf:{folder}", 8)
    assert tokens.truncated == 1 and list(tokens.lengths()) == [5, 8]
    assert tokens.ids[4] == tokens.ids[-1] == 3
    with pytest.raises(ValueError, match="unknown tokenizer 'klip'; known: clip, open_clip:MODEL"):
        tokenize(CAPTIONS, "klip", 8)
    with pytest.raises(ValueError, match="'hf:nowhere/at/all' could not be had"):
        tokenize(CAPTIONS, "hf:nowhere/at/all", 8)


def test_the_name_of_any_tokenizer_is_safe_in_a_path_and_found_again():
    one = {"tokenizer": "open_clip:ViT-B-16-SigLIP2", "context": 64}
    two = {"tokenizer": "open_clip:ViT-B-16/SigLIP2", "context": 64}
    names = {tokens_name(one), tokens_name(two)}
    assert len(names) == 2 and all(set(name) <= {*"-", *map(chr, range(48, 123))} for name in names)
    config = {"backbones": {"tiny": {"tokenizer": "clip", "context": 248}, "one": one, "two": two}}
    assert named_tokens(config, tokens_name(two)) == two
    with pytest.raises(ValueError, match="no backbone of the config has"):
        named_tokens(config, "clip-77")


def test_what_towers_taken_whole_do_not_have_is_refused(folder):
    backbone, _ = built("siglip", folder)
    pixels = torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
    for states in (None, 1, torch.ones(1, 5, dtype=torch.bool)):
        with pytest.raises(ValueError, match="no states of single patches and words"):
            backbone.image(pixels, states=states)
    for ask in (lambda: backbone.patch_size, lambda: backbone.positions(), lambda: backbone.project_words(pixels)):
        with pytest.raises(ValueError, match="taken as a whole"):
            ask()
    with pytest.raises(ValueError, match="16 positions, which are not stretched to 248"):
        backbone.stretch_text(248)
    with pytest.raises(ValueError, match="cannot be recomputed"):
        recompute_blocks(backbone.clip)
    assert not backbone.clip.logit_bias.requires_grad


@pytest.mark.parametrize("kind", frameworks.names())
def test_a_frameworks_file_says_what_it_needs_and_it_is_asked_for(kind, folder):
    module = __import__(f"hnclip.frameworks.{kind}", fromlist=["x"])
    own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    assert frameworks.needs(kind) == next(value.needs for value in own if hasattr(value, "needs"))
    if frameworks.needs(kind):
        with pytest.raises(ValueError, match=f"framework '{kind}' needs .*does not have; 'longclip' takes any"):
            frameworks.create(kind, built("siglip", folder)[0], {})


@pytest.mark.slow  # transformers' models are imported
def test_a_row_is_encoded_alone_and_twice_the_same_while_training(folder):
    backbone, given = built("hub", folder)
    backbone.train()
    given = tokenize(CAPTIONS, given["tokenizer"], 16).batch([0, 1])
    assert not backbone.clip.training and backbone.training
    first = backbone.text(*given, states=0)[0]
    assert torch.equal(first, backbone.text(*given, states=0)[0])
    first.sum().backward()
    assert backbone.clip.text.transformer.embeddings.word_embeddings.weight.grad.abs().sum() > 0


def test_models_of_open_clip_are_known_by_their_configuration():
    assert openai_layout(model_config("ViT-B-16")) and not openai_layout(model_config("ViT-B-16-SigLIP2"))
    assert not openai_layout(model_config("RN50")) and not openai_layout(model_config("ViT-H-14-CLIPA"))
    assert "CoCa" in fault(model_config("coca_ViT-B-32")) and fault(model_config("ViT-B-16-SigLIP2")) is None
    assert "256 x 128" in fault({"vision_cfg": {"image_size": [256, 128]}, "text_cfg": {}})
    found = model_spec.backbone_entry("ViT-B-16-SigLIP2:webli")
    assert found["context"] == 64 and found["tokenizer"] == "open_clip:ViT-B-16-SigLIP2"
    assert found["transform"] == {"size": 224, "interpolation": "bicubic", "resize": "squash", "exif": "ignore"}
    assert not offers(found)
    plain = model_spec.backbone_entry("ViT-B-16:openai")
    assert (plain["context"], plain["tokenizer"]) == (248, "clip") and "token_states" in offers(plain)


def test_a_folder_that_open_clip_would_load_is_a_backbone(folder, tmp_path):
    for name, given in (("whole", entry("resnet", folder)), ("plain", entry("resnet", folder))):
        if name == "plain":
            given["architecture"] = {"embed_dim": 16, "vision_cfg": VIT, "text_cfg": BYTES}
        backbone = backbone_from(given)
        shown = {"size": 32, "mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"}
        write_json(
            tmp_path / name / "open_clip_config.json", {"model_cfg": given["architecture"], "preprocess_cfg": shown}
        )
        write_tensors(tmp_path / name / "open_clip_model.safetensors", backbone.weights(), {"format": "pt"})
        found = model_spec.backbone_entry(str(tmp_path / name))
        again = backbone_from({**found, "context": 16})
        assert type(again) is (WholeTowers if name == "whole" else Backbone)
        assert again.preprocess == Preprocess(32, (0.5,) * 3, (0.5,) * 3, resize="squash")
        assert all(torch.equal(value, again.weights()[name]) for name, value in backbone.weights().items())
    with pytest.raises(ValueError, match="no model exported for open_clip"):
        backbone_from({**found, "model": f"local-dir:{tmp_path}"})


def test_a_file_of_ours_needs_no_other_file(folder, tmp_path):
    backbone, _ = built("hub", folder)
    backbone.architecture["text_cfg"]["hf_model_name"] = "gone/for/good"
    save_backbone(tmp_path / "w.safetensors", backbone, {})
    assert load_backbone(tmp_path / "w.safetensors").weights().keys() == backbone.weights().keys()
