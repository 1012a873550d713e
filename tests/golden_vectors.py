"""The reference implementations' inputs and outputs, and how far ours are from them."""

from pathlib import Path

import numpy as np
import torch

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> dict[str, torch.Tensor]:
    """The arrays of one file as tensors."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        return {key: torch.from_numpy(file[key]) for key in file.files}


def relative_error(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest error, relative to the largest entry."""
    return float((ours.detach() - theirs).abs().max() / theirs.abs().max())
