"""Boxes go the way of the pixels."""

import numpy as np
import pytest
from PIL import Image

from hnclip.data.derive.boxes import boxes_in_input, outside
from hnclip.data.images import Transform, transform_image

SIZES = [(13, 8), (8, 29), (61, 40), (5, 7), (333, 77), (8, 8), (96, 96)]


@pytest.mark.parametrize("resize", ["shortest", "squash"])
@pytest.mark.parametrize("size", SIZES)
def test_the_arithmetic_is_that_of_the_resize_and_the_crop(size, resize):
    width, height = size
    box = (1.5, 2.0, width, height - 0.25)
    if resize == "squash":
        scale, offset = (8 / width, 8 / height), (0, 0)
    else:  # torchvision: the long side is cut to a whole number, the offset rounds half to even
        sides = [8 if side == min(size) else int(8 * side / min(size)) for side in size]
        scale, offset = (sides[0] / width, sides[1] / height), [int(round((side - 8) / 2)) for side in sides]
    expected = [edge * scale[index % 2] - offset[index % 2] for index, edge in enumerate(box)]
    found = boxes_in_input(np.array([box]), np.array([size]), Transform(8, resize=resize))
    assert found.shape == (1, 4) and found.dtype == np.float64
    assert found[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("resize", ["shortest", "squash"])
@pytest.mark.parametrize("size", [(160, 96), (96, 160), (150, 96), (97, 333)])
def test_a_painted_box_is_found_where_the_box_says(size, resize):
    box = (size[0] // 2 - 25, size[1] // 2 - 20, size[0] // 2 + 20, size[1] // 2 + 30)
    image = Image.new("RGB", size)
    image.paste((255, 255, 255), box)
    transform = Transform(48, "bilinear", resize)
    left, top, right, bottom = boxes_in_input(np.array([box]), np.array([size]), transform)[0]
    bright = transform_image(image, transform)[..., 0] > 127
    columns, rows = np.flatnonzero(bright.any(0)), np.flatnonzero(bright.any(1))
    found = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    assert np.abs(np.array(found) - [left, top, right, bottom]).max() <= 1


def test_many_boxes_of_many_images_and_none():
    boxes, sizes = np.array([[0, 0, 20, 10], [0, 0, 3, 10]]), np.array([[20, 10], [20, 10]])
    found = boxes_in_input(boxes, sizes, Transform(8))
    assert found.tolist() == [[-4, 0, 12, 8], [-4, 0, pytest.approx(-1.6), 8]]
    assert outside(found, 8).tolist() == [False, True]
    assert boxes_in_input(np.zeros((0, 4)), np.zeros((0, 2), int), Transform(8)).shape == (0, 4)


@pytest.mark.parametrize("box", [(-3, 1, 0, 2), (8, 1, 9, 2), (1, -3, 2, 0), (1, 8, 2, 9)])
def test_a_box_that_only_touches_the_input_lies_outside(box):
    inside = np.clip(box, 0, 8) + np.array([-0.6, -0.6, 0.6, 0.6])
    assert outside(np.array([box, inside]), 8).tolist() == [True, False]
