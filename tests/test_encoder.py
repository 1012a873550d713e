"""An encoder's identity tells models apart that differ in more than their weights; texts that it cuts are known."""

from dataclasses import replace

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
