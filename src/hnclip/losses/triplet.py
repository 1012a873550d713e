"""Triplet losses over the scores of a batch: a pair must score higher than its negatives by a margin."""

import torch


def triplet_all(score_NN: torch.Tensor, margin: float) -> torch.Tensor:
    """Sum, not mean, of max(0, margin + negative - pair) over all negatives of the batch in both directions, a scalar.

    Row i and column i belong together. Each image is in a batch once, so nothing else needs to be left out. As
    FineLIP's released code (arXiv 2504.01916) has it.
    """
    by_image_NN, by_text_NN = _hinges(score_NN, margin)
    return by_image_NN.sum() + by_text_NN.sum()


def triplet_hardest(score_NN: torch.Tensor, margin: float) -> torch.Tensor:
    """The same with the worst negative of each image and of each caption only (VSE++, arXiv 1707.05612)."""
    by_image_NN, by_text_NN = _hinges(score_NN, margin)
    return by_image_NN.amax(1).sum() + by_text_NN.amax(0).sum()


def _hinges(score_NN: torch.Tensor, margin: float) -> tuple[torch.Tensor, torch.Tensor]:
    """What each negative violates of the margin, zero for the pair itself: of row's image, of column's caption."""
    if score_NN.shape[0] != score_NN.shape[1]:
        raise ValueError(f"a triplet loss needs the scores of pairs, a square matrix, not {tuple(score_NN.shape)}")
    pair_N = score_NN.diagonal()
    own_NN = torch.eye(len(score_NN), dtype=torch.bool, device=score_NN.device)
    by_image_NN = (margin + score_NN - pair_N[:, None]).clamp_min(0).masked_fill(own_NN, 0)
    by_text_NN = (margin + score_NN - pair_N).clamp_min(0).masked_fill(own_NN, 0)
    return by_image_NN, by_text_NN
