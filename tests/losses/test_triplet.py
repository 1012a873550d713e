"""The triplet losses against their definitions with loops."""

import pytest
import torch

from hnclip.losses.triplet import triplet_all, triplet_hardest

N = 6


@pytest.fixture
def score():
    drawn = torch.rand(N, N, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return (drawn + 0.4 * torch.eye(N)).requires_grad_()


def violations(score, margin):
    """By image and by caption: what each negative violates."""
    score = score.detach()
    by_image = [[max(0.0, margin + float(score[i, j] - score[i, i])) for j in range(N) if j != i] for i in range(N)]
    by_text = [[max(0.0, margin + float(score[j, i] - score[i, i])) for j in range(N) if j != i] for i in range(N)]
    return by_image + by_text


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_all_is_the_sum_over_negatives(score, margin):
    expected = sum(sum(row) for row in violations(score, margin))
    assert triplet_all(score, margin).item() == pytest.approx(expected, rel=1e-12)
    assert any(value == 0 for row in violations(score, margin) for value in row)


def test_hardest_is_the_sum_of_the_worst(score):
    assert triplet_hardest(score, 0.2).item() == pytest.approx(
        sum(max(row) for row in violations(score, 0.2)), rel=1e-12
    )


@pytest.mark.parametrize("triplet", [triplet_all, triplet_hardest])
def test_gradient_and_a_met_margin(triplet, score):
    assert torch.autograd.gradcheck(lambda rows: triplet(rows, 0.2), score)
    met = (2 * torch.eye(N)).requires_grad_()
    loss = triplet(met, 0.2)
    loss.backward()
    assert loss.item() == 0 and torch.equal(met.grad, torch.zeros(N, N))


@pytest.mark.parametrize("triplet", [triplet_all, triplet_hardest])
def test_only_pairs_are_compared(triplet):
    with pytest.raises(ValueError, match=r"a square matrix, not \(2, 3\)"):
        triplet(torch.zeros(2, 3), 0.2)
