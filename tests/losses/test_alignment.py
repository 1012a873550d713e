"""Misalignment and consistency against their definitions with loops."""

import pytest
import torch
from torch.nn.functional import normalize

from hnclip.losses.alignment import consistency, misalignment

POWER = {misalignment: 2, consistency: 1}


@pytest.fixture
def rows():
    torch.manual_seed(0)
    return [normalize(torch.randn(5, 4, dtype=torch.float64), dim=-1).requires_grad_() for _ in range(2)]


@pytest.mark.parametrize("loss", POWER)
def test_against_loops(loss, rows):
    a, b = rows
    keep = torch.tensor([True, False, True, True, False])
    apart = [(1 - sum((a[n, d] * b[n, d]).item() for d in range(4))) ** POWER[loss] for n in (0, 2, 3)]
    value = loss(a, b, keep)
    assert value.item() == pytest.approx(sum(apart) / 3, rel=1e-12)
    for gradient in torch.autograd.grad(value, rows):  # neither side is held
        assert gradient[keep].all() and not gradient[~keep].any()


@pytest.mark.parametrize("loss", POWER)
def test_nothing_kept_is_zero_with_a_gradient_of_zeros(loss, rows):
    value = loss(*rows, torch.zeros(5, dtype=bool))
    assert value.item() == 0
    assert all(not gradient.any() for gradient in torch.autograd.grad(value, rows))
