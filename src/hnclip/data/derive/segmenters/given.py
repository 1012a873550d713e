"""The boxes that the benchmark itself gives: box i of a caption belongs to its sentence i."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas
from PIL import Image

from hnclip.data.derive.region import AREA, Region, check_area

THREADS = None


@dataclass(frozen=True)
class Options:
    """area: [least, most] share of the image that a box may cover, both included."""

    area: tuple[float, float] = AREA

    def __post_init__(self):
        check_area(self.area)


def proposer(options: Options, manifest: pandas.DataFrame) -> Callable[[Image.Image, list[int]], list[Region]]:
    """Raises ValueError naming the images whose boxes are no boxes, or a manifest that has none."""
    boxes, sizes = manifest["boxes"], manifest[["width", "height"]].to_numpy()
    faults = dict.fromkeys(
        f"{name} {box}"
        for name, row, size in zip(manifest["id"], boxes, sizes, strict=True)
        for box in row
        if box is not None and not _inside(box, size)
    )
    if faults:
        raise ValueError(
            f"boxes of the benchmark (left, top, right, bottom) that are empty or leave their image: "
            f"{', '.join(faults)}; correct them and prepare the benchmark again"
        )
    if not any(box is not None for row in boxes for box in row):
        raise ValueError("the benchmark gives no boxes: choose another kind of segments, such as felzenszwalb or sam")

    def propose(image: Image.Image, rows: list[int]) -> list[Region]:
        return [
            Region(tuple(box), (box[2] - box[0]) * (box[3] - box[1]) / (image.width * image.height), (row, number))
            for row in rows
            for number, box in enumerate(boxes[row])
            if box is not None
        ]

    return propose


def _inside(box: list[int], size: tuple[int, int]) -> bool:
    return len(box) == 4 and 0 <= box[0] < box[2] <= size[0] and 0 <= box[1] < box[3] <= size[1]
