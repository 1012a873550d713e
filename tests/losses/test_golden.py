"""The losses against the reference implementations' inputs and outputs."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hnclip import BoostedClipLoss
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.losses.token import late_interaction, token_term

GOLDEN = Path(__file__).parents[1] / "golden"


def relative_error(ours: torch.Tensor, golden: np.ndarray) -> float:
    return float(np.abs(ours.detach().numpy() - golden).max() / np.abs(golden).max())


@pytest.mark.parametrize("gamma", ["0.0", "0.25", "0.5", "1.0"])
@pytest.mark.parametrize("scale", ["20", "100"])
@pytest.mark.parametrize("through", ["config", "drop-in"])
def test_boosted_loss(gamma, scale, through):
    golden = np.load(GOLDEN / "boosted_loss.npz")
    image = torch.from_numpy(golden["image"]).requires_grad_()
    text = torch.from_numpy(golden["text"]).requires_grad_()
    if through == "drop-in":
        loss = BoostedClipLoss(gamma=float(gamma))(image, text, float(scale))
    else:
        term = contrastive(LossEntry(boost="captions", gamma=float(gamma)), torch.Generator())
        loss = term(image, text, torch.tensor(float(scale), dtype=torch.float64), torch.arange(len(image)))
    loss.backward()
    assert relative_error(loss, golden[f"loss_g{gamma}_s{scale}"]) < 1e-6
    assert relative_error(image.grad, golden[f"grad_image_g{gamma}_s{scale}"]) < 1e-6
    assert relative_error(text.grad, golden[f"grad_text_g{gamma}_s{scale}"]) < 1e-6


def test_token_term():
    golden = np.load(GOLDEN / "token_term.npz")
    patches = torch.from_numpy(golden["patches"]).requires_grad_()
    words = torch.from_numpy(golden["words"]).requires_grad_()
    count = torch.from_numpy(golden["word_count"])
    by_image, by_text = late_interaction(patches, words, count)
    loss = token_term(patches, words, count, torch.from_numpy(golden["scale"]))
    loss.backward()
    assert relative_error(by_image, golden["patches_to_words"]) < 1e-6
    assert relative_error(by_text, golden["words_to_patches"]) < 1e-6
    assert relative_error(loss, golden["loss"]) < 1e-6
    assert relative_error(patches.grad, golden["grad_patches"]) < 1e-6
    assert relative_error(words.grad, golden["grad_words"]) < 1e-6


def test_a_caption_without_words_is_refused():
    with pytest.raises(ValueError, match="captions \\[1\\] of the batch have no words"):
        token_term(torch.ones(2, 3, 4), torch.ones(2, 3, 4), torch.tensor([2, 0]), 1.0)
