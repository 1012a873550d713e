"""Edge maps of whole images: white lines on black, at full resolution."""

import math
from collections.abc import Callable

import numpy as np
from PIL import Image

from hnclip.data.derive.entries import EdgesEntry


def detector(entry: EdgesEntry) -> Callable[[Image.Image], Image.Image]:
    """The function that makes an edge map, one channel of 0 and 255, of an RGB image."""
    try:
        import cv2  # noqa: F401 (said before any image is read)
    except ImportError as error:
        raise ValueError(f"edge maps need OpenCV: install opencv-python-headless ({error})") from error
    find = {"canny": _canny, "log": _log}[entry.kind]
    return lambda image: Image.fromarray(find(np.asarray(image.convert("L")), entry))


def _canny(grey_HW: np.ndarray, entry: EdgesEntry) -> np.ndarray:
    import cv2

    return cv2.Canny(grey_HW, entry.low, entry.high)


def _log(grey_HW: np.ndarray, entry: EdgesEntry) -> np.ndarray:
    """Zero crossings of the Laplacian of a Gaussian, on the side of each that is darker.

    A straight step of height h blurred by sigma has a Laplacian that falls by h / (sigma^3 sqrt(2 pi)) a pixel where
    it crosses zero. Multiplied by the inverse, the slope is the step's height, to which the threshold is compared.
    """
    import cv2

    smooth_HW = cv2.GaussianBlur(grey_HW.astype(np.float32), (0, 0), entry.sigma)
    unit = entry.sigma**3 * math.sqrt(2 * math.pi)
    bend_HW = np.pad(cv2.Laplacian(smooth_HW, cv2.CV_32F, ksize=1) * unit, 1, mode="edge")
    inner = (slice(1, -1), slice(1, -1))
    here_HW = bend_HW[inner]
    neighbours = {
        "right": bend_HW[1:-1, 2:],
        "left": bend_HW[1:-1, :-2],
        "down": bend_HW[2:, 1:-1],
        "up": bend_HW[:-2, 1:-1],
    }
    # A dark side bends upwards: its Laplacian is positive. Only that side is marked, so that lines stay thin.
    fall = {name: np.where(other_HW <= 0, here_HW - other_HW, 0) for name, other_HW in neighbours.items()}
    across_HW, down_HW = np.maximum(fall["left"], fall["right"]), np.maximum(fall["up"], fall["down"])
    edge_HW = (here_HW > 0) & (np.hypot(across_HW, down_HW) >= max(entry.threshold, 1e-3))
    return edge_HW.astype(np.uint8) * 255
