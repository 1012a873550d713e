"""Regions of like colour at several scales: Felzenszwalb and Huttenlocher's graph segmentation. No network, no GPU."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas
from PIL import Image

from hnclip.data.derive.region import AREA, Box, Region, check_area, scaled, within

THREADS = None


@dataclass(frozen=True)
class Options:
    """How the picture is cut up.

    scales: the larger, the larger the regions. sigma: of the Gaussian that smooths the picture first, in pixels.
    min_size: pixels of the smallest region. longest: a picture with a longer side is made smaller first, so that
    these three mean the same in every picture. area: [least, most] share of the image, both included; the most holds
    for a region's rectangle as well, since that of a background is the whole picture. overlap: of two rectangles that
    share more than this (intersection over union), the one of the earlier scale stays.
    """

    scales: tuple[float, ...] = (100.0, 300.0, 1000.0)
    sigma: float = 0.8
    min_size: int = 50
    longest: int = 512
    area: tuple[float, float] = AREA
    overlap: float = 0.7

    def __post_init__(self):
        check_area(self.area)
        if not 0 <= self.overlap <= 1:
            raise ValueError(f"overlap must be a share from 0 to 1, got {self.overlap}")
        if not self.scales or min(self.scales) <= 0:
            raise ValueError(f"scales must name one or more numbers above 0, got {list(self.scales)}")
        if self.sigma < 0 or self.min_size < 1 or self.longest < 1:
            raise ValueError(
                "sigma must not be negative, min_size and longest must be at least 1; "
                f"got {self.sigma}, {self.min_size} and {self.longest}"
            )


def proposer(options: Options, manifest: pandas.DataFrame) -> Callable[[Image.Image, list[int]], list[Region]]:
    """The tight rectangle of every segment that is no background, once where several are nearly the same."""
    try:
        from skimage.measure import regionprops
        from skimage.segmentation import felzenszwalb
    except ImportError as error:
        raise ValueError(f"segments of kind 'felzenszwalb' need the package scikit-image ({error})") from error

    def propose(image: Image.Image, rows: list[int]) -> list[Region]:
        small = shrunk(image, options.longest)
        pixels = np.asarray(small)
        found: list[Region] = []
        for scale in options.scales:
            labels = felzenszwalb(pixels, scale=scale, sigma=options.sigma, min_size=options.min_size, channel_axis=-1)
            for segment in regionprops(labels + 1):
                top, left, bottom, right = segment.bbox
                box = scaled((left, top, right, bottom), small.size, image.size)
                region = Region(box, float(segment.area) / (small.width * small.height))
                whole = surface(box) > options.area[1] * image.width * image.height
                if within([region], options.area) and not whole:
                    found += [] if any(shared(box, other.box) > options.overlap for other in found) else [region]
        return found

    return propose


def shrunk(image: Image.Image, longest: int) -> Image.Image:
    """The image, made smaller where its longer side has more pixels than that."""
    share = longest / max(image.size)
    if share >= 1:
        return image
    return image.resize(tuple(max(1, round(side * share)) for side in image.size), Image.Resampling.BOX)


def surface(box: Box) -> int:
    """Pixels of a box; none where it is upside down."""
    return max(box[2] - box[0], 0) * max(box[3] - box[1], 0)


def shared(a: Box, b: Box) -> float:
    """Intersection over union of two boxes, 0 to 1."""
    common = surface((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
    return common / (surface(a) + surface(b) - common)
