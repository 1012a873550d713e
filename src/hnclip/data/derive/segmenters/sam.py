"""Regions by Segment Anything: every mask that the mask-generation pipeline of `transformers` finds.

Masks are looked at as runs of pixels, never many of them as pictures, and points are asked about in smaller batches
where the image is large, so that memory is bounded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from PIL import Image

from hnclip.data.derive.region import AREA, Region, check_area, scaled

THREADS = 1  # the model works on one image at a time
MOST = (4000, 3000)  # width and height up to which an image is segmented as it is
THUMBNAIL = (2048, 1536)  # what a larger one must fit
VALUES = 2**29  # of the masks that the model scores at once, at the image's size
MASKS = 3  # that it scores a point


@dataclass(frozen=True)
class Options:
    """model: a folder with a model in the layout of `transformers`, or its name on the hub.

    points_per_batch: most points that the model is asked about at once. area: [least, most] share of the image that a
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
        regions = (run_region(mask, image.size) for mask in generate(small))
        return [region for region in regions if region]

    return propose


def run_region(mask: dict[str, Any], full: tuple[int, int]) -> Region | None:
    """The region of a mask in an image of this width and height, of which the mask may be a smaller copy.

    The mask is `size`, [height, width], and `counts`: lengths of runs of pixels column after column, outside and
    inside in turn. None for a mask without pixels.
    """
    height, width = mask["size"]
    counts = np.asarray(mask["counts"])
    ends = np.cumsum(counts)
    inside = (np.arange(len(counts)) % 2 == 1) & (counts > 0)
    first, last = (ends - counts)[inside], ends[inside] - 1
    if not len(first):
        return None
    wraps = (first // height != last // height).any()  # a run over the end of a column has both its ends
    top, bottom = (0, height - 1) if wraps else ((first % height).min(), (last % height).max())
    box = (int(first[0]) // height, int(top), int(last[-1]) // height + 1, int(bottom) + 1)
    return Region(scaled(box, (width, height), full), int(counts[inside].sum()) / (width * height))


def points_at_once(options: Options, size: tuple[int, int]) -> int:
    """As many points as the masks of an image of this width and height leave room for."""
    return max(1, min(options.points_per_batch, VALUES // (MASKS * size[0] * size[1])))


def _pipeline(options: Options) -> Callable[[Image.Image], list[dict[str, Any]]]:
    """The function that finds the masks of an image, as runs."""
    try:
        from transformers import MaskGenerationPipeline, pipeline
        from transformers.utils import logging
    except ImportError as error:
        raise ValueError(f"segments of kind 'sam' need the package transformers ({error})") from error
    import torch
    from torchvision.ops import batched_nms

    from hnclip.encode import device

    class Runs(MaskGenerationPipeline):
        """Ends before the runs of all masks of an image become pictures of its size."""

        def postprocess(self, model_outputs, crops_nms_thresh=0.7):
            runs = [mask for output in model_outputs for mask in output["masks"]]
            boxes, scores = (torch.cat([output[key] for output in model_outputs]) for key in ("boxes", "iou_scores"))
            kept = batched_nms(boxes.float(), scores, torch.zeros(len(boxes), device=boxes.device), crops_nms_thresh)
            return [runs[number] for number in kept.tolist()]

    logging.disable_progress_bar()
    generate = pipeline("mask-generation", model=options.model, device=device(), pipeline_class=Runs)
    return lambda image: generate(image, points_per_batch=points_at_once(options, image.size))
