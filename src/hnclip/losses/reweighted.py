"""HN-NCE: InfoNCE whose negatives are weighted by how hard they are."""

import torch
from torch.nn.functional import cross_entropy

from hnclip.losses.contrastive import similarities
from hnclip.losses.left_out import LEFT_OUT, not_negative


def reweighted(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    beta: float,
) -> torch.Tensor:
    """Half the sum of both directions' mean of -log e^{l_ii} / (e^{l_ii} + sum over j ≠ i of w_ij e^{l_ij}), a scalar.

    l = `scale * (cosine + offset)` with the query as the row, w_ij = n e^{β l_ij} / (sum over k ≠ i of e^{β l_ik}), n
    the number of the row's negatives: they weigh 1 on average. β = 0 is InfoNCE. The weights get their gradient too.
    HN-NCE of DiHT (arXiv 2301.02280) with α = 1, after Robinson et al. (arXiv 2010.04592).
    """
    by_image_NN, by_text_NN = similarities(image_ND, text_ND, offset_NN)
    not_NN = not_negative(by_image_NN, offset_NN)
    return (_direction(scale * by_image_NN, beta, not_NN) + _direction(scale * by_text_NN, beta, not_NN)) / 2


def _direction(logits_NN: torch.Tensor, beta: float, not_NN: torch.Tensor) -> torch.Tensor:
    power_NN = (beta * logits_NN).masked_fill(not_NN, LEFT_OUT)
    # the number of negatives is taken the way of the sum, so that equal weights are 1 to the bit
    count_N1 = torch.zeros_like(power_NN).masked_fill(not_NN, LEFT_OUT).logsumexp(1, keepdim=True)
    log_weight_NN = power_NN - power_NN.logsumexp(1, keepdim=True) + count_N1
    weighted_NN = logits_NN + log_weight_NN.masked_fill(not_NN, 0)
    return cross_entropy(weighted_NN, torch.arange(len(logits_NN), device=logits_NN.device))
