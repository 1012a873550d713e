"""GOAL's released places, wrong as they are."""

import torch

from hnclip.losses.released import released_box, released_span


def test_a_region_runs_to_the_bottom_right_corner():
    box_N4 = torch.tensor([[100.0, 50.0, 300.0, 250.0], [10.0, 0.0, 20.0, 5.0]])
    assert released_box(box_N4, 224).tolist() == [[112.0, 56.0, 224.0, 224.0], [224.0, 0.0, 224.0, 224.0]]


def test_a_sentence_comes_one_token_late_and_a_cut_one_takes_the_last_tokens():
    span_N2 = torch.tensor([[1, 9], [240, 247], [0, 0]])
    found = released_span(span_N2, torch.tensor([8, 7, 12]), 248)
    assert found.tolist() == [[2, 10], [241, 247], [235, 247]]
