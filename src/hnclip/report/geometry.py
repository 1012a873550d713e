"""How alike captions are: cosines of all pairs and of hardest companions, found blockwise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

BINS = numpy.linspace(-1.0, 1.0, 201)
ALIKE = 0.8  # pairs at and above it are the paper's alike negatives
EDGES = (0.8, 0.9, 0.95)  # between the buckets of hardness
CELLS = 2**23  # cosines held at once


@dataclass(frozen=True)
class Geometry:
    """Cosines of N captions with those of other images; captions of one image are no pair.

    pairs: how many cosines of all pairs lie in each of BINS. mean: their mean. alike: their share at or above ALIKE
    (0..1). hardest_N: each caption's highest cosine, with the caption numbered companion_N.
    """

    pairs: numpy.ndarray
    mean: float
    alike: float
    hardest_N: numpy.ndarray
    companion_N: numpy.ndarray

    @property
    def mean_hardest(self) -> float:
        return float(self.hardest_N.mean(dtype=numpy.float64))

    @property
    def buckets(self) -> numpy.ndarray:
        """Shares (0..1) of captions whose hardest companion lies below, between, from the last of EDGES."""
        bucket_N = numpy.searchsorted(numpy.float32(EDGES), self.hardest_N, side="right")
        return numpy.bincount(bucket_N, minlength=len(EDGES) + 1) / len(bucket_N)


def caption_geometry(ids_N: Sequence[str], text_ND: numpy.ndarray) -> Geometry:
    """Cosines of every caption with every other image's captions; ids are images', at least two of them needed."""
    image_N = number_images(ids_N)
    if image_N.max(initial=0) < 1:
        raise ValueError("caption cosines need the captions of at least two images")
    total, alike, pairs, hardest, companion = 0.0, 0, numpy.zeros(len(BINS) - 1, int), [], []
    rows = max(1, CELLS // len(text_ND))
    for start in range(0, len(text_ND), rows):
        cosine_BN = (text_ND[start : start + rows] @ text_ND.T).clip(-1, 1)
        same_BN = image_N[start : start + rows, None] == image_N
        values = cosine_BN[~same_BN]
        total, alike = total + float(values.sum(dtype=numpy.float64)), alike + int((values >= ALIKE).sum())
        pairs += numpy.histogram(values, len(BINS) - 1, (-1, 1))[0]
        cosine_BN[same_BN] = -2
        companion.append(cosine_BN.argmax(1))
        hardest.append(cosine_BN.max(1))
    count = int(pairs.sum())
    return Geometry(pairs, total / count, alike / count, numpy.concatenate(hardest), numpy.concatenate(companion))


def number_images(ids_N: Sequence[str]) -> numpy.ndarray:
    """A number for each caption, equal for captions of one image."""
    return numpy.unique(numpy.asarray(ids_N, dtype=str), return_inverse=True)[1]


def duplicates(ids: Sequence[str], captions: Sequence[str]) -> int:
    """How many captions are word for word another image's caption as well."""
    images: dict[str, set[str]] = {}
    for name, caption in zip(ids, captions, strict=True):
        images.setdefault(caption, set()).add(name)
    return sum(len(images[caption]) > 1 for caption in captions)
