"""The token-level term in blocks; its values are tested against the golden ones in test_golden.py."""

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import normalize

from hnclip.losses.token import late_interaction

COUNT = torch.tensor([3, 1, 2, 3, 2])


def tokens(rows, count, seed, width=6):
    drawn = torch.randn(rows, count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return normalize(drawn, dim=-1).requires_grad_()


def test_against_loops():
    patches, words = tokens(4, 2, 0).detach(), tokens(5, 3, 1).detach()
    by_image, by_text = late_interaction(patches, words, COUNT)
    for i in range(4):
        for c in range(5):
            cosine = [[float(patches[i, p] @ words[c, w]) for w in range(COUNT[c])] for p in range(2)]
            assert by_image[i, c].item() == pytest.approx(sum(max(row) for row in cosine) / 2, abs=1e-12)
            assert by_text[i, c].item() == pytest.approx(
                sum(max(column) for column in zip(*cosine, strict=True)) / COUNT[c].item(), abs=1e-12
            )


@pytest.mark.parametrize("pairs", [1, 2, 7, 12])  # one caption of one image at once, then some, then some images
def test_blocks_equal_the_whole(pairs):
    patches, words = tokens(4, 2, 0), tokens(5, 3, 1)
    weight = torch.randn(2, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    whole, parts = (late_interaction(patches, words, COUNT, block) for block in (1 << 20, pairs * 2 * 3))
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-14)
    found = [torch.autograd.grad((torch.stack(each) * weight).sum(), (patches, words)) for each in (parts, whole)]
    torch.testing.assert_close(*found, rtol=0, atol=1e-14)


def test_no_cosines_are_kept_for_the_gradient():
    patches, words, kept = tokens(8, 20, 0), tokens(8, 20, 1), []

    def keep(tensor):
        kept.append(tensor.numel())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        late_interaction(patches, words, torch.full((8,), 20), block=2 * 8 * 20 * 20)
    assert max(kept) <= patches.numel() * 4
    assert sum(kept) < 8 * 20 * 8 * 20 / 2
