"""Exported ONNX graphs: the card's own code, without torch, gives the trained backbone's embeddings."""

import numpy as np
import pytest
import torch
from test_export import pictures_and_captions, run_card, same, trained
from world import BACKBONE

from hnclip import export
from hnclip.encoder import Encoder
from hnclip.models import onnx_check, to_onnx
from hnclip.models.load import backbone_from
from hnclip.models.onnx_check import check_graphs
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
def test_graphs_of_another_model_are_found_out(folder):
    other = backbone_from({**BACKBONE, "seed": 9}).eval()
    with pytest.raises(
        ValueError, match=r"image.onnx gives other embeddings than torch: they differ by .*at most 0.0001"
    ):
        check_graphs(folder[0], other)


@pytest.mark.slow
def test_what_fails_its_check_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_check, "TOLERANCE", 0.0)
    with pytest.raises(ValueError, match="nothing was written"):
        export.main("tiny", tmp_path / "out", "onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_towers_that_are_taken_as_a_whole(tmp_path, monkeypatch):
    from hnclip.models.checkpoints import save_backbone

    save_backbone(tmp_path / "whole.safetensors", backbone_from(WHOLE), {})
    export.main(tmp_path / "whole.safetensors", tmp_path / "out", "onnx")
    names = run_card(tmp_path / "out", monkeypatch)
    captions = ["a red box", "two dogs " * 20, "x"]
    wanted = Encoder(str(tmp_path / "whole.safetensors")).texts(captions)
    assert np.abs(names["embed_texts"](captions) - wanted).max() < 1e-5
    with pytest.raises(ValueError, match="OpenAI's two towers, and this backbone has others: take open_clip or onnx"):
        export.main(tmp_path / "whole.safetensors", tmp_path / "theirs", "transformers")


def test_without_the_packages_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(to_onnx, "find_spec", lambda name: None if name == "onnxscript" else name)
    with pytest.raises(ValueError, match=r"needs onnxscript: pip install 'hnclip\[onnx\]'"):
        export.main("tiny", tmp_path / "out", "onnx")
    assert not list(tmp_path.iterdir())
