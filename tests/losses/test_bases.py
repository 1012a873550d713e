"""Every base against its definition with loops, values and gradients, and what all bases promise."""

import pytest
import torch
from by_loops import BY_LOOPS
from drawn_pairs import CLASSES, SAME, SETTINGS, N, drawn, gradients

from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import LossEntry
from hnclip.losses.left_out import leave_out_same
from hnclip.losses.objective import BASES, Tables, contrastive

every = pytest.mark.parametrize(("base", "keys"), SETTINGS)


def offsets():
    values = torch.randn(N, N, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return (0.3 * values).fill_diagonal_(0)


@pytest.mark.parametrize("masked", [False, True])
@every
def test_value_and_gradients_are_the_definitions(base, keys, masked):
    leaves = drawn()
    given = leave_out_same(offsets(), CLASSES) if masked else offsets()
    ours = BASES[base](*leaves, given, **keys)
    theirs = BY_LOOPS[base](*leaves, offsets(), SAME if masked else (), **keys)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    for one, other in zip(gradients(ours, leaves), gradients(theirs, leaves), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@every
def test_without_an_offset_it_is_that_with_zeros(base, keys):
    leaves = drawn()
    bare, zeros = BASES[base](*leaves, **keys), BASES[base](*leaves, torch.zeros(N, N, dtype=torch.float64), **keys)
    assert torch.equal(bare, zeros)
    assert all(map(torch.equal, gradients(bare, leaves), gradients(zeros, leaves)))


@pytest.mark.parametrize(("base", "keys"), [("reweighted", {"beta": 0.0}), ("soft", {"mix": 0.0, "sharpness": 9.0})])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("masked", [False, True])
def test_zero_strength_is_info_nce_to_the_bit(base, keys, dtype, masked):
    leaves = drawn(dtype=dtype)
    given = offsets().to(dtype)
    given = leave_out_same(given, CLASSES) if masked else given
    plain, ours = info_nce(*leaves, given), BASES[base](*leaves, given, **keys)
    assert torch.equal(plain, ours)
    assert all(map(torch.equal, gradients(plain, leaves), gradients(ours, leaves)))


@every
def test_the_scale_learns_where_it_is_read(base, keys):
    *_, scale = leaves = drawn()
    BASES[base](*leaves, offsets(), **keys).backward()
    assert (scale.grad is None) == (base == "hardest")


@every
def test_gradcheck(base, keys):
    *rows, scale = drawn()
    if base == "soft":  # the target has no gradient, which finite differences cannot know: turn images alone
        assert torch.autograd.gradcheck(
            lambda image, s: BASES[base](image, rows[1], s, offsets(), **keys), (rows[0], scale)
        )
    else:
        assert torch.autograd.gradcheck(lambda *leaves: BASES[base](*leaves, offsets(), **keys), (*rows, scale))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
@every
def test_a_batch_of_one_or_two_is_finite_even_without_negatives(base, keys, masked, count):
    leaves = drawn(count=count)
    given = torch.zeros(count, count, dtype=torch.float64)
    given = leave_out_same(given, torch.zeros(count, dtype=torch.int64)) if masked else given
    loss = BASES[base](*leaves, given, **keys)
    found = gradients(loss, leaves)
    assert torch.isfinite(loss) and all(torch.isfinite(gradient).all() for gradient in found)
    if base != "sigmoid" and (masked or count == 1):  # nothing to tell a pair from, and no question without the pair
        assert loss.item() == pytest.approx(0, abs=1e-12) and not any(
            gradient.abs().max() > 1e-12 for gradient in found
        )


@every
def test_a_solved_batch_of_a_trained_scale_is_finite_in_fp32(base, keys):
    image = torch.eye(N, requires_grad=True)
    text, scale = torch.eye(N, requires_grad=True), torch.tensor(100.0, requires_grad=True)
    given = leave_out_same(0.5 * (1 - torch.eye(N)), CLASSES)
    loss = BASES[base](image, text, scale, given, **keys)
    assert torch.isfinite(loss)
    assert all(torch.isfinite(gradient).all() for gradient in gradients(loss, (image, text, scale)))


@pytest.mark.parametrize("masked", [False, True])
@every
def test_under_autocast_and_from_bf16_rows_it_is_the_loss_in_fp32(base, keys, masked):
    image, text, scale = (leaf.detach() for leaf in drawn(dtype=torch.bfloat16))
    entry = LossEntry(base=base, boost="captions", gamma=0.5, mask_duplicates=masked, **keys)
    term = contrastive(entry, torch.Generator(), Tables(text_class_M=CLASSES))
    exact = term(image.float(), text.float(), scale.float(), torch.arange(N))
    with torch.autocast("cpu", torch.bfloat16):
        found = term(image, text, scale.float(), torch.arange(N))
        single = term(image.float(), text.float(), scale.float(), torch.arange(N))
    assert found.dtype == torch.float32
    assert torch.equal(found, exact) and torch.equal(single, exact)


def test_wrong_shapes_are_refused_by_every_base():
    for base, keys in SETTINGS:
        with pytest.raises(ValueError, match=r"\(3, 4\) and captions \(2, 4\) must be pairs"):
            BASES[base](torch.zeros(3, 4), torch.zeros(2, 4), 1.0, **keys)
