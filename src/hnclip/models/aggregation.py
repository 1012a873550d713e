"""Many tokens of a tower merged into few: the aggregation module of FineLIP (arXiv 2504.01916).

K counts the merged tokens.
"""

import torch
from torch import nn
from torch.nn.functional import normalize

HIDDEN = 0.2  # width of the hidden layer as a share of the tokens' width


class TokenAggregator(nn.Module):
    """K weighted means of an item's tokens; the weights are learned from the tokens themselves."""

    def __init__(self, width: int, count: int):
        super().__init__()
        self.count = count
        hidden = max(1, int(HIDDEN * width))
        self.weigh = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, count))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, tokens_NTD: torch.Tensor, count_N: torch.Tensor | None = None) -> torch.Tensor:
        """The merged tokens [N, K, D]; only the first `count` tokens of a row take part, all by default."""
        weight_NTK = self.scale * self.weigh(tokens_NTD)
        if count_N is not None:
            place_T = torch.arange(tokens_NTD.shape[1], device=tokens_NTD.device)
            weight_NTK = weight_NTK.masked_fill((place_T >= count_N[:, None])[:, :, None], float("-inf"))
        return weight_NTK.softmax(1).transpose(1, 2) @ tokens_NTD


def image_tokens(aggregator: TokenAggregator, tokens_NPD: torch.Tensor) -> torch.Tensor:
    """Unit tokens [N, 1 + K, D] of images: the class token, then the merged patches.

    `tokens` are the class token and the patches after the tower's last norm and projection.
    """
    tokens_NPD = _exact(tokens_NPD)
    with torch.autocast(tokens_NPD.device.type, enabled=False):
        merged_NKD = aggregator(tokens_NPD[:, 1:])
        return normalize(torch.cat([tokens_NPD[:, :1], merged_NKD], dim=1), dim=-1)


def text_tokens(aggregator: TokenAggregator, tokens_NTD: torch.Tensor, length_N: torch.Tensor) -> torch.Tensor:
    """Unit tokens [N, K + 1, D] of captions: the merged tokens from the start token on, then the end token.

    `tokens` are those after the tower's last norm and projection, `length` counts start to end token; what follows
    the end token is never read.
    """
    tokens_NTD = _exact(tokens_NTD)
    with torch.autocast(tokens_NTD.device.type, enabled=False):
        end_N1D = tokens_NTD[torch.arange(len(length_N), device=length_N.device), length_N - 1][:, None]
        merged_NKD = aggregator(tokens_NTD, length_N - 1)
        return normalize(torch.cat([merged_NKD, end_N1D], dim=1), dim=-1)


def _exact(tokens: torch.Tensor) -> torch.Tensor:
    """In fp32 at least: FineLIP's authors found mixed precision to hurt."""
    return tokens.to(torch.promote_types(tokens.dtype, torch.float32))
