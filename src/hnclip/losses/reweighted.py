"""HN-NCE: InfoNCE whose negatives are weighted by how hard they are."""

import torch
from torch.nn.functional import cross_entropy

from hnclip.losses.contrastive import similarities
from hnclip.losses.left_out import LEFT_OUT, not_negative
from hnclip.losses.own_rows import EVERY, pair_of


def reweighted(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    offset_NN: torch.Tensor | None = None,
    *,
    beta: float,
    own: slice = EVERY,
) -> torch.Tensor:
    """Half the sum of both directions' mean of -log e^{l_ii} / (e^{l_ii} + sum over j ≠ i of w_ij e^{l_ij}), a scalar.

    l = `scale * (cosine + offset)` with the query as the row, w_ij = n e^{β l_ij} / (sum over k ≠ i of e^{β l_ik}), n
    the number of the row's negatives: they weigh 1 on average. β = 0 is InfoNCE. The weights get their gradient too.
    HN-NCE of DiHT (arXiv 2301.02280) with α = 1, after Robinson et al. (arXiv 2010.04592).
    """
    by_image_QN, by_text_QN = similarities(image_ND, text_ND, offset_NN, own)
    not_QN = not_negative(by_image_QN, offset_NN, own)
    pair_Q = pair_of(own, len(text_ND), text_ND.device)
    return (
        _direction(scale * by_image_QN, beta, not_QN, pair_Q) + _direction(scale * by_text_QN, beta, not_QN, pair_Q)
    ) / 2


def _direction(logits_QN: torch.Tensor, beta: float, not_QN: torch.Tensor, pair_Q: torch.Tensor) -> torch.Tensor:
    power_QN = (beta * logits_QN).masked_fill(not_QN, LEFT_OUT)
    # the number of negatives is taken the way of the sum, so that equal weights are 1 to the bit
    count_Q1 = torch.zeros_like(power_QN).masked_fill(not_QN, LEFT_OUT).logsumexp(1, keepdim=True)
    log_weight_QN = power_QN - power_QN.logsumexp(1, keepdim=True) + count_Q1
    return cross_entropy(logits_QN + log_weight_QN.masked_fill(not_QN, 0), pair_Q)
