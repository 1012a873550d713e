"""Regions by Segment Anything: every mask that the mask-generation pipeline of `transformers` finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas
from PIL import Image

from hnclip.data.derive.region import AREA, Region, check_area, scaled

THREADS = 1  # the model works on one image at a time
MOST = (4000, 3000)  # width and height up to which an image is segmented as it is
THUMBNAIL = (2048, 1536)  # what a larger one must fit


@dataclass(frozen=True)
class Options:
    """model: a folder with a model in the layout of `transformers`, or its name on the hub.

    points_per_batch: points that the model is asked about at once. area: [least, most] share of the image that a
    mask may cover, both included.
    """

    model: str
    points_per_batch: int = 128
    area: tuple[float, float] = AREA

    def __post_init__(self):
        check_area(self.area)
        if self.points_per_batch < 1:
            raise ValueError(f"points_per_batch must be at least 1, got {self.points_per_batch}")


def proposer(options: Options, manifest: pandas.DataFrame) -> Callable[[Image.Image, list[int]], list[Region]]:
    """The tight rectangle of every mask; its area is the mask's."""
    generate = _pipeline(options)

    def propose(image: Image.Image, rows: list[int]) -> list[Region]:
        small = image
        if image.width > MOST[0] or image.height > MOST[1]:
            small = image.copy()
            small.thumbnail(THUMBNAIL)
        regions = (mask_region(mask_HW, image.size) for mask_HW in generate(small))
        return [region for region in regions if region]

    return propose


def mask_region(mask_HW: np.ndarray, full: tuple[int, int]) -> Region | None:
    """The region of a mask in an image of this width and height, of which the mask may be a smaller copy."""
    rows, columns = np.flatnonzero(mask_HW.any(1)), np.flatnonzero(mask_HW.any(0))
    if not len(rows):
        return None
    box = (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    return Region(scaled(box, mask_HW.shape[::-1], full), float(mask_HW.mean()))


def _pipeline(options: Options) -> Callable[[Image.Image], Iterator[np.ndarray]]:
    """The function that finds the masks of an image, bool [height, width] each."""
    try:
        from transformers import pipeline
    except ImportError as error:
        raise ValueError(f"segments of kind 'sam' need the package transformers ({error})") from error
    import torch

    from hnclip.encode import device

    generate = pipeline("mask-generation", model=options.model, device=device())

    def masks(image: Image.Image) -> Iterator[np.ndarray]:
        for mask in generate(image, points_per_batch=options.points_per_batch)["masks"]:
            yield torch.as_tensor(mask).cpu().numpy()  # they lie where the model is

    return masks
