"""Boxes of an image as boxes of the square that a backbone sees."""

import numpy as np

from hnclip.data.images import Transform, resized


def boxes_in_input(box_N4: np.ndarray, size_N2: np.ndarray, transform: Transform) -> np.ndarray:
    """Left, top, right, bottom in pixels of the input, float64 [N, 4], through the transform's resize and crop.

    `box_N4` is in pixels of images whose widths and heights are `size_N2`. Neither rounded nor clamped: what the
    centre crop cuts off lies below 0 or above `transform.size`.
    """
    size_N2 = np.asarray(size_N2)
    placed_N4 = np.array([resized(int(width), int(height), transform) for width, height in size_N2]).reshape(-1, 4)
    scale_N2, offset_N2 = placed_N4[:, :2] / size_N2.reshape(-1, 2), placed_N4[:, 2:]
    return np.asarray(box_N4, np.float64).reshape(-1, 4) * np.tile(scale_N2, 2) - np.tile(offset_N2, 2)


def outside(box_N4: np.ndarray, size: int) -> np.ndarray:
    """True for boxes of the input that, rounded as frameworks do, share no pixel with its `size` x `size`."""
    left, top, right, bottom = np.round(box_N4).T
    return (right <= 0) | (bottom <= 0) | (left >= size) | (top >= size)
