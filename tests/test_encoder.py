"""An encoder's identity tells models apart that differ in more than their weights; texts that it cuts are known."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from hnclip.encoder import Encoder


def test_another_look_or_activation_is_another_identity():
    encoder = Encoder("tiny")

    def identity():
        encoder.__dict__.pop("identity", None)  # it is kept
        return encoder.identity

    found = [identity()]
    assert identity() == found[0]
    encoder.backbone.preprocess = replace(encoder.backbone.preprocess, mean=(0.5, 0.5, 0.5))
    found.append(identity())
    encoder.backbone.architecture = {**encoder.backbone.architecture, "quick_gelu": False}
    assert len({*found, identity()}) == 3


def test_a_text_that_just_fits_is_not_cut():
    encoder = Encoder("tiny")
    fits = " ".join(["box"] * (encoder.entry["context"] - 2))
    assert encoder.cut([fits, f"{fits} box", "a box"]) == [False, True, False]


def test_files_are_embedded_in_their_order_as_their_bytes_are(tmp_path):
    encoder = Encoder("tiny", batch=2)
    paths = [tmp_path / f"{name}.png" for name in "cab"]
    for number, path in enumerate(paths):
        Image.new("RGB", (60, 50 + number), (90 * number, 50, 200)).save(path)
    found = encoder.files(paths)
    assert np.abs(found - encoder.images((path.name, path.read_bytes()) for path in paths)).max() < 1e-6
    assert found.shape == (3, encoder.width) and (found[0] @ found[1:].T < 0.9999).all()
    assert encoder.files([]).shape == (0, encoder.width)
    paths[1].write_bytes(b"no picture")
    with pytest.raises(ValueError, match="a.png: cannot be read"):
        encoder.files(paths)


def test_broken_weights_embed_nothing():
    encoder = Encoder("tiny")
    encoder.backbone.clip.visual.ln_post.weight.data[0] = float("nan")
    with pytest.raises(ValueError, match=r"tiny gives no finite embeddings \(1 of 1 pictures tried\)"):
        encoder.pixels([np.zeros((48, 48, 3), np.uint8)])
    encoder.backbone.clip.ln_final.weight.data[0] = float("nan")
    with pytest.raises(ValueError, match=r"\(2 of 2 texts tried\): its weights are broken"):
        encoder.texts(["a", "b"])
