"""What a cell on cached embeddings costs: products of small maps, and the comparison of a large batch."""

from typing import Any

from hnclip.plan.tower import FP32

HIDDEN = 512  # units of a two-layer map where the entry names none
MATRICES = 6.0  # N x N, of a loss over pairs
ROWS = 6.0  # of embeddings, kept for the backward pass


def parameters(options: dict[str, Any], width: int) -> int:
    """Numbers that training changes: of each mapped side its map, and the scale."""
    hidden = options.get("hidden", HIDDEN)
    one = width * (width + 1) if options.get("layers", 1) == 1 else hidden * (2 * width + 1) + width
    return _sides(options) * one + 1


def training(options: dict[str, Any], width: int, batch: int) -> float:
    """Operations of one pair's forward and backward pass, its share of the batch's comparison included.

    Embeddings that are read need no gradient, so a first layer takes two products and not three.
    """
    hidden = options.get("hidden", HIDDEN)
    one = 4.0 * width**2 if options.get("layers", 1) == 1 else 10.0 * width * hidden
    return _sides(options) * one + 2.0 * batch * width * (1 + _sides(options))


def _sides(options: dict[str, Any]) -> int:
    return 2 if options.get("sides", "both") == "both" else 1


def peak(options: dict[str, Any], width: int, batch: int, pairs: int) -> float:
    """Bytes held at once: all embeddings, the maps with gradient and moments, a batch and its comparisons."""
    held = 2.0 * pairs * width + 4.0 * parameters(options, width) + 2.0 * ROWS * batch * width + MATRICES * batch**2
    return FP32 * held
