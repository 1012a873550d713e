"""Where GOAL's released code looks for a region and a sentence (perceptualAI-Lab/GOAL); both places are wrong."""

import torch


def released_box(box_N4: torch.Tensor, size: int) -> torch.Tensor:
    """Boxes in image pixels, placed in a `size` x `size` input by the box's own width and height, [N, 4].

    The image's were meant, so a region runs to the bottom right corner.
    """
    own_N2 = (box_N4[:, 2:] - box_N4[:, :2]).clamp_min(1)
    return (box_N4 * size / own_N2.repeat(1, 2)).clamp(0, size)


def released_span(span_N2: torch.Tensor, words_N: torch.Tensor, context: int) -> torch.Tensor:
    """Token spans one token late, [N, 2]; of a sentence that was cut off, the last tokens of the context.

    `words_N` counts a sentence's tokens without start and end. Spans end before the context's last token.
    """
    last = context - 1
    fallback_N2 = torch.stack([(last - words_N).clamp_min(0), torch.full_like(words_N, last)], dim=1)
    cut_N1 = span_N2[:, 1:] == 0
    return torch.where(cut_N1, fallback_N2, (span_N2 + 1).clamp_max(last))
