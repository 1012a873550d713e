"""Regions and spans against their definitions with loops, and GOAL's token similarity against the reference."""

import pytest
import torch
from golden_vectors import golden, relative_error
from torch.nn.functional import layer_norm, normalize

from hnclip.data.derive.boxes import boxes_in_input
from hnclip.data.images import Transform
from hnclip.losses.alignment import misalignment
from hnclip.losses.regions import patch_mask, pooled, span_mask

SIZE, PATCH = 32, 8
BOXES = [
    [0, 0, 32, 32],
    [0, 0, 8, 8],
    [7, 8, 9, 16],
    [3.4, 2.5, 20.5, 17.5],  # half to even: 2 and 18 from top to bottom, 20 at the right
    [-90, -4, 5, 90],
    [16, 16, 16, 16],  # empty on a border between patches
    [-20, 0, -4, 32],  # left of the input
    [0, 33, 32, 60],  # below it
    [0, 0, 0, 0],
]


def touched(box: list[float]) -> list[bool]:
    """Every patch that shares a pixel with the box, pixel by pixel."""
    left, top, right, bottom = (min(max(round(value), 0), SIZE) for value in box)
    pixels = {(y // PATCH, x // PATCH) for y in range(top, bottom) for x in range(left, right)}
    return [(row, column) in pixels for row in range(SIZE // PATCH) for column in range(SIZE // PATCH)]


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_a_patch_counts_where_a_pixel_of_the_box_lies_in_it(box):
    mask_NP = patch_mask(torch.tensor([box, [0, 0, 32, 32]]), SIZE, PATCH)
    assert mask_NP[0].tolist() == touched(box)
    assert mask_NP[1].all()


def test_an_empty_box_inside_a_patch_touches_that_one():
    assert patch_mask(torch.tensor([[11.0, 18.0, 11.0, 18.0]]), SIZE, PATCH)[0].nonzero().tolist() == [[2 * 4 + 1]]


def test_the_grid_is_the_towers():
    assert patch_mask(torch.tensor([[0.0, 0.0, 224.0, 224.0]]), 224, 14).shape == (1, 256)


def test_spans_exclude_their_end():
    span = torch.tensor([[1, 3], [0, 0], [4, 9]])
    assert span_mask(span, 5).tolist() == [[False, True, True, False, False], [False] * 5, [False] * 4 + [True]]
    assert torch.equal(span_mask(span[None], 5)[0], span_mask(span, 5))


def test_pooled_is_the_mean_of_the_masked_states():
    torch.manual_seed(0)
    states = torch.randn(3, 5, 4, dtype=torch.float64)
    mask = torch.tensor([[True, False, True, True, False], [False] * 5, [False, False, False, False, True]])
    ours = pooled(states, mask)
    for row in range(3):
        chosen = [states[row, token] for token in range(5) if mask[row, token]]
        expected = sum(chosen) / len(chosen) if chosen else torch.zeros(4, dtype=torch.float64)
        torch.testing.assert_close(ours[row], expected, rtol=0, atol=1e-12)


def test_an_empty_mask_leaves_a_finite_gradient_through_norm_and_normalisation():
    states = torch.randn(2, 5, 4, requires_grad=True)
    mask = torch.tensor([[False] * 5, [True] * 5])
    unit = normalize(layer_norm(pooled(states, mask), (4,)), dim=-1)
    misalignment(unit, normalize(torch.ones(2, 4), dim=-1), mask.any(1)).backward()
    assert torch.isfinite(states.grad).all() and not states.grad[0].any() and states.grad[1].any()


def in_input(given: dict[str, torch.Tensor]) -> torch.Tensor:
    """The golden boxes in pixels of an input that whole images are squashed to."""
    box_N4 = torch.stack([given[corner] for corner in ("x1", "y1", "x2", "y2")], dim=1)
    size_N2 = torch.stack([given["image_width"], given["image_height"]], dim=1)
    squash = Transform(int(given["input_size"]), resize="squash")
    return torch.from_numpy(boxes_in_input(box_N4.numpy(), size_N2.numpy(), squash))


def test_token_similarity_is_goals():
    given = golden("goal_token_similarity")
    states, local = (given[key].requires_grad_() for key in ("patch_tokens", "local_embedding"))
    mask_NP = patch_mask(in_input(given), int(given["input_size"]), int(given["patch_size"]))
    region = pooled(states[:, 1:], mask_NP)
    normed = layer_norm(region, region.shape[1:], given["ln_weight"], given["ln_bias"])
    unit = [normalize(rows, dim=-1) for rows in (normed @ given["projection"], local)]
    loss = misalignment(*unit, mask_NP.any(1))
    loss.backward()
    assert mask_NP.any(1).all()
    assert relative_error(region, given["pooled"]) < 1e-6
    assert relative_error(loss, given["loss"]) < 1e-6
    assert relative_error(states.grad, given["grad_patch_tokens"]) < 1e-6
    assert relative_error(local.grad, given["grad_local_embedding"]) < 1e-6
