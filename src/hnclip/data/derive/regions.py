"""The pixels of regions, image after image: what crops of pictures and crops of edge maps share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas
from PIL import Image

from hnclip.data.decoded import decoded
from hnclip.data.derive.boxes import boxes_in_input, outside
from hnclip.data.derive.segment_table import BOX
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import images


def region_pixels(
    manifest_path: Path,
    manifest: pandas.DataFrame,
    regions: pandas.DataFrame,
    transform: Transform,
    draw: Callable[[Image.Image], Image.Image],
    out: Path,
    threads: int | None,
    start: int,
) -> Iterator[list[np.ndarray]]:
    """The crops of every row of a table of regions, in order, uint8 [size, size, channels]; one list an image.

    The images before number `start`, of those that have regions, are left out. Crops are cut from what `draw` makes of
    the whole image, then transformed on their own. An image is decoded once; images without regions are not. Raises
    ValueError naming every image that cannot be used.
    """
    groups = {name: group[BOX].to_numpy().tolist() for name, group in regions.groupby("id", sort=False)}
    rows = images(manifest)
    rows = rows[rows["id"].isin(groups.keys())]  # rows of an image are adjacent in both tables, in the same order
    boxes = [groups[name] for name in rows["id"]]

    def one(image: Image.Image, number: int) -> list[np.ndarray]:
        whole = draw(image)
        return [transform_image(whole.crop(box), transform) for box in boxes[number]]

    return decoded(manifest_path, rows, transform.exif, one, out, boxes=True, threads=threads, start=start)


def boxes_outside(manifest: pandas.DataFrame, regions: pandas.DataFrame, transform: Transform) -> int:
    """How many regions the centre crop of the whole image leaves wholly outside the input."""
    size_N2 = manifest[["width", "height"]].to_numpy()[regions["caption"]]
    return int(outside(boxes_in_input(regions[BOX].to_numpy(), size_N2, transform), transform.size).sum())
