"""The projection onto principal components: definition, gradient, reference, and what it refuses or warns about."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from hnclip.losses import principal as module
from hnclip.losses.contrastive import info_nce
from hnclip.losses.principal import principal

GOLDEN = Path(__file__).parents[1] / "golden" / "longclip_loss.npz"


def rows(count: int, width: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def relative_error(ours: torch.Tensor, golden: np.ndarray) -> float:
    return float(np.abs(ours.detach().numpy() - golden).max() / np.abs(golden).max())


def test_the_reference():
    golden = np.load(GOLDEN)
    image, text, short = (
        torch.from_numpy(golden[name]).requires_grad_() for name in ("image", "text_long", "text_short")
    )
    scale, smoothing = torch.from_numpy(golden["scale"]), float(golden["label_smoothing"])
    projected = principal(image)
    long_loss = info_nce(image, text, scale, label_smoothing=smoothing)
    short_loss = info_nce(projected, short, scale, label_smoothing=smoothing)
    (long_loss + short_loss).backward()
    assert relative_error(projected, golden["image_principal_32"]) < 1e-6
    assert relative_error(long_loss, golden["loss_long"]) < 1e-6
    assert relative_error(short_loss, golden["loss_short"]) < 1e-6
    assert relative_error(image.grad, golden["grad_image"]) < 1e-6
    assert relative_error(text.grad, golden["grad_text_long"]) < 1e-6
    assert relative_error(short.grad, golden["grad_text_short"]) < 1e-6


@pytest.mark.parametrize(("count", "width"), [(12, 6), (6, 12)])
def test_against_eigenvectors_of_the_covariance(count, width):
    image = rows(count, width)
    mean = [sum(image[n, d].item() for n in range(count)) / count for d in range(width)]
    centred = [[image[n, d].item() - mean[d] for d in range(width)] for n in range(count)]
    covariance = [
        [sum(centred[n][a] * centred[n][b] for n in range(count)) for b in range(width)] for a in range(width)
    ]
    main = np.linalg.eigh(np.array(covariance))[1][:, ::-1][:, :3]  # eigh sorts upwards
    ours = principal(image, 3)
    for n in range(count):
        expected = list(mean)
        for k in range(3):
            along = sum(centred[n][d] * main[d, k] for d in range(width))
            expected = [expected[d] + along * main[d, k] for d in range(width)]
        assert ours[n].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("count", "width"), [(9, 5), (5, 9)])
def test_gradient_is_that_of_finite_differences(count, width):
    assert torch.autograd.gradcheck(lambda image: principal(image, 2), rows(count, width).requires_grad_())


def test_alike_images_leave_the_right_gradient():
    """Two directions of equal spread are kept and two dropped: autograd through the basis would divide by zero."""
    base = torch.diag(torch.tensor([3.0, 3.0, 1.0, 1.0], dtype=torch.float64))
    image = torch.cat([base, -base, base, -base])
    assert torch.autograd.gradcheck(lambda image: principal(image, 2), image.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fewer_different_images_than_components_leave_a_bounded_gradient(dtype):
    """All is kept, so no gradient grows; rounding errors among the kept and dropped values must not count as a gap."""
    for seed in range(5):
        image = rows(20, 48, seed, dtype)[torch.arange(40) % 20].requires_grad_()
        given = rows(40, 48, seed + 100, dtype)
        ours = principal(image)
        torch.testing.assert_close(ours, image.detach(), rtol=0, atol=1e-5)
        assert torch.autograd.grad((ours * given).sum(), image)[0].norm() < given.norm()


@pytest.mark.parametrize(("count", "width", "changes"), [(33, 64, False), (34, 64, True), (40, 32, False)])
def test_a_projection_that_changes_nothing_is_warned_about_once(count, width, changes):
    image = rows(count, width)
    module._warn_unchanged.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            ours = principal(image)
    assert torch.allclose(ours, image, rtol=0, atol=1e-9) is not changes
    said = [str(warning.message) for warning in caught]
    expected = f"32 principal components keep all of {count} rows of width {width}, so the projection changes nothing"
    assert len(said) == (not changes) and all(message.startswith(expected) for message in said)


def test_low_precision_goes_up_and_autocast_is_left():
    image = rows(12, 6)
    exact = principal(image, 3)
    assert exact.dtype == torch.float64
    half = image.to(torch.bfloat16)
    single = half.float()
    assert principal(half, 3).dtype == torch.float32
    plain = principal(single.requires_grad_(), 3)
    expected = torch.autograd.grad(plain.square().sum(), single)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = principal(single, 3)
        grad = torch.autograd.grad(ours.square().sum(), single)[0]
    assert torch.equal(principal(half, 3), plain)
    assert torch.equal(ours, plain) and torch.equal(grad, expected)


def test_rows_without_components_are_named():
    image = rows(12, 6)
    image[[2, 7], 0] = torch.tensor([float("nan"), float("inf")], dtype=torch.float64)
    with pytest.raises(ValueError, match=r"no principal components: rows \[2, 7\] of the batch \(2 of 12\)"):
        principal(image, 3)


def test_a_decomposition_that_fails_is_told(monkeypatch):
    def fail(*_, **__):
        raise torch.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(torch.linalg, "svd", fail)
    with pytest.raises(ValueError, match="of 12 image embeddings of width 6 could not be computed .did not converge"):
        principal(rows(12, 6), 3)
