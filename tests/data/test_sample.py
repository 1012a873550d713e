"""Shares nest, epochs are seeded, no pair is alone, one caption an image and epoch."""

import numpy as np
import pytest

from hnclip.data.sample import caption_of_epoch, epoch_batches, subset

IDS = [f"image {number}" for number in range(237)]


def test_shares_nest_and_are_of_the_size_asked_for():
    sizes = []
    for small, large in ((5, 20), (20, 50), (50, 100)):
        assert set(subset(IDS, small, 42)) < set(subset(IDS, large, 42))
        sizes.append(len(subset(IDS, small, 42)))
    assert sizes == [12, 48, 119]
    assert subset(IDS, 100, 42).tolist() == list(range(237))


def test_a_share_hangs_on_seed_and_id_alone():
    chosen = {IDS[place] for place in subset(IDS, 20, 42)}
    turned = IDS[::-1]
    assert {turned[place] for place in subset(turned, 20, 42)} == chosen
    assert {IDS[place] for place in subset(IDS, 20, 43)} != chosen


@pytest.mark.parametrize("fraction", [0, 101, -5])
def test_a_share_is_a_percent(fraction):
    with pytest.raises(ValueError, match="whole percent from 1 to 100"):
        subset(IDS, fraction, 0)


@pytest.mark.parametrize(("images", "sizes"), [(12, [4, 4, 4]), (13, [4, 4, 5]), (14, [4, 4, 4, 2]), (3, [3])])
def test_every_image_once_and_none_alone(images, sizes):
    batches = epoch_batches(np.arange(images), 4, 0, 0)
    assert [len(rows) for rows in batches] == sizes
    assert sorted(np.concatenate(batches)) == list(range(images))


def test_epochs_differ_and_repeat():
    first, second, again = (np.concatenate(epoch_batches(np.arange(50), 8, 7, epoch)) for epoch in (0, 1, 0))
    assert (first == again).all() and (first != second).any()


@pytest.mark.parametrize(("images", "batch"), [(1, 4), (5, 1)])
def test_one_pair_is_no_contrast(images, batch):
    with pytest.raises(ValueError, match="at least two pairs"):
        epoch_batches(np.arange(images), batch, 0, 0)


def test_captions_are_the_images_own_and_change_with_the_epoch():
    start = np.array([0, 1, 3, 8, 10])
    images = np.array([2, 0, 3, 1])
    drawn = np.stack([caption_of_epoch(images, start, 5, epoch) for epoch in range(60)])
    assert ((drawn >= start[images]) & (drawn < start[images + 1])).all()
    assert [len(set(column)) for column in drawn.T] == [5, 1, 2, 2]
    assert (caption_of_epoch(images[::-1], start, 5, 3)[::-1] == drawn[3]).all()


@pytest.mark.parametrize(
    ("images", "fraction", "said"),
    [
        (40, 2, "fraction 2 leaves 1 of the 40 training images.*give a fraction of at least 3, or more images"),
        (2, 50, "fraction 50 leaves 1 of the 2 training images.*at least 51, or"),
        (1, 100, "fraction 100 leaves 1 of the 1 training images.*two: give more images"),
    ],
)
def test_a_share_of_fewer_than_two_images_is_refused(images, fraction, said):
    with pytest.raises(ValueError, match=said):
        subset(IDS[:images], fraction, 0)


@pytest.mark.parametrize(("images", "fraction"), [(40, 3), (2, 51), (237, 1)])
def test_the_least_share_has_two_images_or_more(images, fraction):
    assert len(subset(IDS[:images], fraction, 0)) >= 2
