"""How alike captions are to an encoder: in all pairs, to their hardest companions, and within random batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from hnclip.report.geometry import ALIKE, BINS, Geometry, caption_geometry, number_images

EDGES = (0.5, 0.7, 0.8, 0.9, 0.95)
BATCHES = (16, 64, 256, 1024)
PAIRS, MOST = 6400, 400  # pairs in the batches of one size that are simulated, and batches at most


class Batch(NamedTuple):
    """Random batches of `batch` images: cosines of a caption with the others, means over captions and draws.

    hardest: the highest of them. mean, spread: their mean, and standard deviation about it. twins: how many are at
    or above ALIKE.
    """

    batch: int
    draws: int
    hardest: float
    mean: float
    spread: float
    twins: float


@dataclass(frozen=True)
class Alike:
    """What an encoder makes of M captions, a sample where there are more: their rows in the whole, unit embeddings.

    encoder: its name. scale: the inverse temperature that goes with its cosines; `own_scale` says whether it is the
    encoder's own. trained: whether it is the model that is to be trained. toy: the embedded `tiny`. cut: share of
    captions that it did not read to the end.
    """

    encoder: str
    scale: float
    own_scale: bool
    trained: bool
    toy: bool
    cut: float
    rows_M: numpy.ndarray
    ids_M: Sequence[str]
    text_MD: numpy.ndarray
    geometry: Geometry
    batches: list[Batch]

    @property
    def buckets(self) -> list[tuple[str, int]]:
        """(words, how many captions have their hardest companion there), from far to near."""
        bucket_M = numpy.searchsorted(numpy.float32(EDGES), self.geometry.hardest_N, side="right")
        counts = numpy.bincount(bucket_M, minlength=len(EDGES) + 1).tolist()
        inner = [f"{low:g}–{high:g}" for low, high in zip(EDGES, EDGES[1:], strict=False)]
        return list(zip([f"< {EDGES[0]:g}", *inner, f"≥ {EDGES[-1]:g}"], counts, strict=True))

    def share(self, cosine: float) -> float:
        """Share of all pairs at or above a cosine (of two decimals), 0..1."""
        pairs = self.geometry.pairs
        return float(pairs[numpy.searchsorted(BINS, cosine - 1e-6) :].sum() / pairs.sum())

    @property
    def record(self) -> dict[str, Any]:
        return {
            "encoder": self.encoder,
            "toy": self.toy,
            "captions": len(self.rows_M),
            "captions_cut": self.cut,
            "scale": self.scale,
            "scale_is_the_encoders_own": self.own_scale,
            "mean_cosine": self.geometry.mean,
            "mean_hardest_cosine": self.geometry.mean_hardest,
            "pairs_alike": {f"{edge:g}": self.share(edge) for edge in EDGES},
            "hardest_companion": dict(self.buckets),
            "random_batches": [batch._asdict() for batch in self.batches],
        }


def batches(ids_M: Sequence[str], text_MD: numpy.ndarray, seed: int = 0) -> list[Batch]:
    """Every size that there are enough images for; where the smallest is too large, one batch of all images."""
    image_M = number_images(ids_M)
    images = int(image_M.max()) + 1
    order = numpy.argsort(image_M, kind="stable")
    start = numpy.append(0, numpy.cumsum(numpy.bincount(image_M)))
    sizes = [size for size in BATCHES if size <= images] or [images]
    return [_batch(text_MD, order, start, size, seed) for size in sizes]


def _batch(text_MD: numpy.ndarray, order: numpy.ndarray, start: numpy.ndarray, size: int, seed: int) -> Batch:
    random = numpy.random.default_rng([seed, size])
    draws = max(10, min(MOST, PAIRS // size))
    sums = numpy.zeros(4)
    for _ in range(draws):
        chosen = random.choice(len(start) - 1, size, replace=False)
        text_ND = text_MD[order[random.integers(start[chosen], start[chosen + 1])]]
        others_NN = _others((text_ND @ text_ND.T).clip(-1, 1))
        twins = (others_NN >= ALIKE).sum(1).mean()
        sums += others_NN.max(1).mean(), others_NN.mean(), others_NN.std(1).mean(), twins
    return Batch(size, draws, *(sums / draws).tolist())


def _others(cosine_NN: numpy.ndarray) -> numpy.ndarray:
    """Each row without its diagonal, [N, N - 1]."""
    size = len(cosine_NN)
    return cosine_NN[~numpy.eye(size, dtype=bool)].reshape(size, size - 1)


def measure(ids_M: Sequence[str], text_MD: numpy.ndarray) -> tuple[Geometry, list[Batch]]:
    """Cosines of the captions of at least two images, by pair and by batch."""
    return caption_geometry(ids_M, text_MD), batches(ids_M, text_MD)
