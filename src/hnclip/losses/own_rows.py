"""The query rows of a batch that are scored at once: all of them, or one process's contiguous share."""

import torch

EVERY = slice(None)


def first(own: slice) -> int:
    """The place of the own first row in the batch."""
    return own.start or 0


def is_every(own: slice, count: int) -> bool:
    """Whether the own rows are all `count` of them."""
    return len(range(count)[own]) == count


def pair_of(own: slice, count: int, device: torch.device) -> torch.Tensor:
    """The column of each own row's pair among `count`, int64 [Q]."""
    return torch.arange(count, device=device)[own]


def is_pair(own: slice, count: int, device: torch.device) -> torch.Tensor:
    """True where a column is its row's own pair, bool [Q, N]."""
    return pair_of(own, count, device)[:, None] == torch.arange(count, device=device)
