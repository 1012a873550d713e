"""Text positions stretched from 77 to 248 as Long-CLIP does (arXiv 2403.15378, released code)."""

import torch

KEPT = 20
FACTOR = 4


def stretch_positions(table_LW: torch.Tensor, keep: int = KEPT, factor: int = FACTOR) -> torch.Tensor:
    """The position table with its first `keep` rows as they are and the others `factor` times as many.

    Between two old rows the new ones are interpolated; the last `factor` continue the last step.
    [L, W] becomes [keep + factor * (L - keep), W], so 77 becomes 248.
    """
    length = table_LW.shape[0]
    if length < keep + 2:
        raise ValueError(f"a table of {length} positions cannot keep {keep} and stretch the rest: need {keep + 2}")
    new = torch.arange(keep + factor * (length - keep), device=table_LW.device)
    source = torch.where(new < keep, new.double(), keep + (new - keep).double() / factor)
    low = source.floor().long().clamp_max(length - 2)
    share = (source - low).to(table_LW.dtype)[:, None]
    return (1 - share) * table_LW[low] + share * table_LW[low + 1]
