"""Late interaction against its definition with loops, and its memory."""

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import normalize

from hnclip.losses.late import late_similarity


def tokens(rows: int, count: int, seed: int, width: int = 6) -> torch.Tensor:
    drawn = torch.randn(rows, count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return normalize(drawn, dim=-1).requires_grad_()


def test_against_loops():
    image, text = tokens(4, 3, 0).detach(), tokens(5, 2, 1).detach()
    ours = late_similarity(image, text)
    negative = 0
    for i in range(4):
        for c in range(5):
            cosine = [[float(image[i, k] @ text[c, t]) for t in range(2)] for k in range(3)]
            pair = [[value if value > 0 else 0.1 * value for value in row] for row in cosine]
            by_text = [max(pair[k][t] for k in range(3)) for t in range(2)]
            by_image = [max(row) for row in pair]
            negative += sum(value < 0 for value in by_text + by_image)
            assert float(ours[i, c]) == pytest.approx(sum(by_text) / 2 + sum(by_image) / 3, abs=1e-12)
    assert negative > 0  # the slope below zero took part


def test_blocks_equal_the_whole():
    image, text = tokens(4, 3, 0), tokens(7, 2, 1)
    weight = torch.randn(4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    whole = late_similarity(image, text)
    parts = late_similarity(image, text, block=2 * 4 * 3 * 2)  # two captions at once, the last alone
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-14)
    for ours, theirs in zip(
        torch.autograd.grad((parts * weight).sum(), (image, text)),
        torch.autograd.grad((whole * weight).sum(), (image, text)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def test_no_cosines_are_kept_for_the_gradient():
    image, text = tokens(8, 20, 0), tokens(8, 20, 1)
    kept = []

    def keep(tensor):
        kept.append(tensor.numel())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        late_similarity(image, text, block=2 * 8 * 20 * 20)
    assert max(kept) <= image.numel()
    assert sum(kept) < 8 * 20 * 8 * 20 / 2


def test_autocast_is_left():
    image, text = tokens(4, 3, 0).float(), tokens(5, 2, 1).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = late_similarity(image, text)
    assert torch.equal(ours, late_similarity(image, text))
    assert late_similarity(image.bfloat16(), text.bfloat16()).dtype == torch.float32
