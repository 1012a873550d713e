"""A 64-bit perceptual hash: copies of a picture that were re-encoded, resized or brightened differ in few bits."""

from functools import lru_cache

import numpy as np
from PIL import Image

BITS = 64
# Of 40 made-up photographs, re-encoded, resized and brightened copies were up to 6 bits away, those with 2 % cut from
# each side up to 10, other pictures 13 and more (tests/data/test_perceptual.py).
NEAR = 8
BLANK = np.uint64(0)  # the hash of every picture of one colour, and of few others, such as a plain gradient
_SIDE = 32


def perceptual_hash(image: Image.Image) -> np.uint64:
    """The hash of a picture's coarse shapes: one bit for each of the 64 lowest frequencies of its grey 32 x 32 copy.

    A bit says whether that coefficient of the cosine transform lies over their median. The mean brightness is none of
    them. Mirrored, turned and strongly cropped copies have other hashes; pictures of one colour all have the hash 0.
    """
    grey = image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    values = np.asarray(grey, dtype=np.float64)
    basis = _cosines()
    coefficients = (basis @ values @ basis.T)[_lowest()].round(6)
    bits = coefficients > np.median(coefficients)
    return np.packbits(bits).view(">u8").astype(np.uint64)[0]


def distances(one_N: np.ndarray, other_M: np.ndarray) -> np.ndarray:
    """In how many bits each hash of one array differs from each of another, uint8 [N, M]."""
    return np.bitwise_count(one_N[:, None] ^ other_M[None, :])


@lru_cache
def _cosines() -> np.ndarray:
    """The orthonormal cosine transform (DCT-II) of 32 values, [frequency, place]."""
    frequency, place = np.mgrid[:_SIDE, :_SIDE]
    basis = np.cos(np.pi * (place + 0.5) * frequency / _SIDE) * np.sqrt(2 / _SIDE)
    basis[0] /= np.sqrt(2)
    return basis


@lru_cache
def _lowest() -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the 64 lowest frequencies of two dimensions, the constant one left out."""
    places = [(down, across) for down in range(_SIDE) for across in range(_SIDE)]
    chosen = sorted(places, key=lambda place: (sum(place), place))[1 : BITS + 1]
    return tuple(np.array(chosen).T)
