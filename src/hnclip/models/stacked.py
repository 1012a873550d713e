"""Captions of several kinds as one batch, so that the text tower is run once."""

import torch
from torch.nn.functional import pad


def stacked(*ids: torch.Tensor) -> torch.Tensor:
    """Token ids [N, T] of each kind one under the other, padded with zeros to the longest T."""
    longest = max(part.shape[1] for part in ids)
    return torch.cat([pad(part, (0, longest - part.shape[1])) for part in ids])
