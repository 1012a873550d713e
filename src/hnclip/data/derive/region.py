"""A region of an image, before it is matched with a sentence."""

from dataclasses import dataclass

Box = tuple[int, int, int, int]
AREA = (0.01, 0.8)  # of the image; what GOAL keeps


@dataclass(frozen=True)
class Region:
    """`box`: left, top, right, bottom in pixels of the image, ends exclusive. `area`: the share of it, 0 to 1.

    `sentence`: row of the manifest and number of the sentence, where the region belongs to one already.
    """

    box: Box
    area: float
    sentence: tuple[int, int] | None = None


def check_area(area: tuple[float, float]) -> None:
    """Refuse a range of area shares that is upside down or out of bounds."""
    if not 0 <= area[0] <= area[1] <= 1:
        raise ValueError(f"area must be [least, most] shares of the image within 0 to 1, got {list(area)}")


def within(regions: list[Region], area: tuple[float, float]) -> list[Region]:
    """The regions whose share of the image lies in this range, its ends included."""
    return [region for region in regions if area[0] <= region.area <= area[1]]


def scaled(box: Box, size: tuple[int, int], full: tuple[int, int]) -> Box:
    """A box of an image that was made smaller, in the image as stored: the pixels that it touches there."""
    (across, down), (width, height) = size, full
    left, top, right, bottom = box
    return (
        left * width // across,
        top * height // down,
        -(-right * width // across),
        -(-bottom * height // down),
    )
