"""Cached caption embeddings in the place of a split's tokens."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class TextVectors:
    """Caption embeddings that are asked for as tokens are (hnclip.data.tokens)."""

    rows: np.ndarray  # float32 [captions, D]
    truncated: int | None = None  # captions that did not fit the encoder's context; None where nothing tells

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings [N, D] of these captions, and a length of 1 for each, [N]."""
        return torch.from_numpy(self.rows[np.asarray(rows, np.int64)]), torch.ones(len(rows), dtype=torch.int64)

    def by_length(self, batch: int) -> Iterator[tuple[np.ndarray, torch.Tensor, torch.Tensor]]:
        """All captions in batches, in their order: rows, embeddings and lengths."""
        for start in range(0, len(self), batch):
            rows = np.arange(start, min(start + batch, len(self)))
            yield rows, *self.batch(rows)
