"""Captions laid end to end in one row, so that no work goes into padding."""

from itertools import accumulate

import torch
from torch.nn.functional import scaled_dot_product_attention


class Packed:
    """Which tokens of a row [1, tokens, W] are captions of their own.

    It goes where open_clip's blocks expect a causal mask: a token sees those before it in its caption.
    """

    def __init__(self, lengths: list[int], device: torch.device):
        self.lengths = lengths
        self.device = device
        self.tokens = sum(lengths)
        self.last_N = torch.tensor([end - 1 for end in accumulate(lengths)], dtype=torch.long, device=device)
        self._places: dict[int, torch.Tensor] = {}

    def to(self, dtype: torch.dtype) -> "Packed":
        """Itself: there is nothing to cast, as there is in a mask."""
        return self

    def filled(self, rows: torch.Tensor, width: int) -> torch.Tensor:
        """Packed rows [tokens, ...] as [N, width, ...], with zeros behind each caption's end."""
        empty = rows.new_zeros(len(self.lengths) * width, *rows.shape[1:])
        return empty.index_copy(0, self.places(width), rows).unflatten(0, (-1, width))

    def places(self, width: int) -> torch.Tensor:
        """Where each token lies among N * width padded ones, [tokens]; made once, as a copy to a GPU waits for it."""
        if width not in self._places:
            length_N = torch.tensor(self.lengths, dtype=torch.long)
            before_N = torch.arange(len(length_N)) * width - (length_N.cumsum(0) - length_N)
            places = torch.arange(self.tokens) + before_N.repeat_interleave(length_N)
            self._places[width] = places.to(self.device)
        return self._places[width]

    def mixed(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Values after attention, shaped like `query`: [1, tokens, heads, width], or its last token of each caption.

        On a CPU each caption is a call of its own, which costs little and wastes nothing; elsewhere one call does
        all, padded, since attention is a small part of the tower and many small calls are not.
        """
        return (self.one_by_one if query.device.type == "cpu" else self.padded)(query, key, value)

    def one_by_one(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        whole = query.shape[1] == self.tokens
        parts = zip(
            query.split(self.lengths if whole else 1, dim=1),
            key.split(self.lengths, dim=1),
            value.split(self.lengths, dim=1),
            strict=True,
        )
        return torch.cat([attention(*part, causal=whole) for part in parts], dim=1)

    def padded(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        width = max(self.lengths)
        key, value = (self.filled(rows[0], width) for rows in (key, value))
        if query.shape[1] != self.tokens:
            seen_NT = self.filled(torch.ones(self.tokens, dtype=torch.bool, device=self.device), width)
            return attention(query[0][:, None], key, value, seen=seen_NT[:, None, None]).transpose(0, 1)
        mixed = attention(self.filled(query[0], width), key, value, causal=True)
        return mixed.flatten(0, 1).index_select(0, self.places(width))[None]


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    seen: torch.Tensor | None = None,
    causal: bool = False,
) -> torch.Tensor:
    """Softmax attention over tokens of [N, T, heads, width]; `seen`, [..., T, S], is true where seen, or added."""
    rows = (states.transpose(1, 2) for states in (query, key, value))
    return scaled_dot_product_attention(*rows, attn_mask=seen, is_causal=causal).transpose(1, 2)
