"""The structure term, consistency and the schedule of StructXLIP against the reference; what is missing is left out."""

import pytest
import torch
from golden_vectors import golden, relative_error
from torch.nn.functional import normalize

from hnclip.frameworks.structxlip import Options
from hnclip.losses.alignment import consistency
from hnclip.losses.contrastive import info_nce
from hnclip.losses.kept import kept_info_nce
from hnclip.losses.schedule import auxiliary_factor
from hnclip.losses.structure import structure


def test_structure_and_consistency_are_the_references():
    given = golden("structxlip")
    edge = given["edge"].requires_grad_()
    unit = {key: normalize(given[key], dim=-1) for key in ("image", "edge", "filtered_text")}
    found = structure(unit["edge"], unit["filtered_text"], given["scale"], given["has_edge"])
    apart = consistency(unit["image"], unit["edge"], given["has_edge"])
    (found + apart).backward()
    assert relative_error(found, given["loss_structure"]) < 1e-7
    assert relative_error(apart, given["loss_consistency"]) < 1e-7
    assert relative_error(edge.grad, given["grad_edge_of_structure_plus_consistency"]) < 1e-7


def test_schedule_is_the_references():
    given = golden("structxlip")["schedule_floor_07_05_04"]
    ours = [[auxiliary_factor(epoch, floor) for epoch in range(12)] for floor in Options().floors]
    assert relative_error(torch.tensor(ours, dtype=torch.float64), given) < 1e-12


def test_structure_teaches_the_scale_nothing():
    edge, text = (normalize(torch.randn(4, 3), dim=-1).requires_grad_() for _ in range(2))
    scale = torch.tensor(10.0, requires_grad=True)
    structure(edge, text, scale, torch.ones(4, dtype=bool)).backward()
    assert scale.grad is None and edge.grad.any() and text.grad.any()


def test_only_kept_pairs_are_compared():
    torch.manual_seed(0)
    image, text = (normalize(torch.randn(6, 3, dtype=torch.float64), dim=-1) for _ in range(2))
    rows = torch.tensor([1, 2, 5])
    keep = torch.zeros(6, dtype=bool).index_fill(0, rows, True)
    expected = info_nce(image[rows], text[rows], 7.0)
    assert torch.equal(kept_info_nce(image, text, torch.tensor(7.0, dtype=torch.float64), keep), expected)


@pytest.mark.parametrize("kept", [0, 1])
def test_no_pair_or_one_is_zero_with_a_gradient_of_zeros(kept):
    image, text = (normalize(torch.randn(4, 3), dim=-1).requires_grad_() for _ in range(2))
    loss = kept_info_nce(image, text, torch.tensor(7.0), torch.arange(4) < kept)
    loss.backward()
    assert loss.item() == 0 and not image.grad.any() and not text.grad.any()
