"""Which pairs a cell trains on and in which order: nested shares, seeded epochs, one caption an image and epoch."""

import hashlib

import numpy as np


def order_key(seed: int, name: str) -> bytes:
    """Where an image stands in the order that fractions are cut from."""
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def subset(ids: list[str], fraction: int, seed: int) -> np.ndarray:
    """Positions, ascending, of the images in the first `fraction` percent; smaller shares are inside larger ones.

    Raises ValueError for a fraction that leaves fewer than two images.
    """
    if not 1 <= fraction <= 100:
        raise ValueError(f"a fraction is a whole percent from 1 to 100, not {fraction}")
    ranked = sorted(range(len(ids)), key=lambda index: order_key(seed, ids[index]))
    kept = ranked[: -(-len(ids) * fraction // 100)]
    if len(kept) < 2:
        enough = f"a fraction of at least {100 // len(ids) + 1}, or " if len(ids) > 1 else ""
        raise ValueError(
            f"fraction {fraction} leaves {len(kept)} of the {len(ids)} training images, and contrast needs at least "
            f"two: give {enough}more images"
        )
    return np.sort(kept)


def epoch_batches(images: np.ndarray, batch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The epoch's batches of image positions, each image once, in an order of seed and epoch alone.

    The last batch may be smaller; a single image left over joins the batch before it, since one pair has no
    negative.
    """
    if len(images) < 2 or batch < 2:
        raise ValueError(f"contrast needs at least two pairs a batch: {len(images)} images, batch {batch}")
    shuffled = np.random.default_rng([seed, epoch]).permutation(images)
    batches = [shuffled[start : start + batch] for start in range(0, len(shuffled), batch)]
    if len(batches[-1]) == 1 and len(batches) > 1:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches


def caption_of_epoch(images: np.ndarray, caption_start: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """For each image position the row of the caption drawn for it in this epoch, of those its image has."""
    first, count = caption_start[images], np.diff(caption_start)[images]
    draw = np.random.default_rng([seed, epoch, 1]).random(len(caption_start) - 1)[images]
    return first + (draw * count).astype(np.int64)
