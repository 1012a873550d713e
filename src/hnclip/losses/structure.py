"""The structure term of StructXLIP (arXiv 2602.20089): edge maps find their captions without appearance."""

import torch

from hnclip.losses.kept import kept_info_nce


def structure(
    edge_ND: torch.Tensor, filtered_ND: torch.Tensor, scale: torch.Tensor, has_edge_N: torch.Tensor
) -> torch.Tensor:
    """InfoNCE of edge maps and filtered captions, over pairs with an edge map; the scale learns nothing from it."""
    return kept_info_nce(edge_ND, filtered_ND, scale.detach(), has_edge_N)
