"""How many random batches plain InfoNCE has solved, by how many pairs it contrasts; from embeddings, no training."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy

from hnclip.report.model_embeddings import Embedded

SOLVED = 1e-3  # a batch with a smaller loss is solved
CONTRASTS = (8, 16, 32, 64, 128, 256, 512)
LEAST_DRAWS, PAIRS = 20, 6400  # batches of one contrast: as many as hold PAIRS pairs, LEAST_DRAWS at least
BLOCK = 2**20  # cosines that are held at once


class Point(NamedTuple):
    """Batches of one size B: share solved (0..1), median loss, mean gap and the gap that would do, as cosines.

    The gap is that of the positive over its hardest negative, mean over pairs and both directions.
    """

    batch: int
    draws: int
    solved: float
    loss: float
    gap: float
    needed: float


def needed_gap(batch: int, scale: float) -> float:
    """The gap of every positive over all its negatives, alike, at which the loss is SOLVED; a cosine.

    ln(1 + (B - 1) exp(-s gap)) = SOLVED, solved for the gap.
    """
    return math.log((batch - 1) / math.expm1(SOLVED)) / scale


def curve(model: Embedded, seed: int = 0, contrasts: Sequence[int] = CONTRASTS) -> list[Point]:
    """Every contrast that the split has enough images for: batches of random images, one random caption each.

    Two models on one split are asked the same batches.
    """
    images = len(model.caption_start) - 1
    return [_point(model, batch, seed) for batch in contrasts if batch <= images]


def _point(model: Embedded, batch: int, seed: int) -> Point:
    random = numpy.random.default_rng([seed, batch])
    draws = max(LEAST_DRAWS, PAIRS // batch)
    start = model.caption_start
    images_KN = numpy.stack([random.choice(len(start) - 1, batch, replace=False) for _ in range(draws)])
    captions_KN = random.integers(start[images_KN], start[images_KN + 1])
    blocks = numpy.array_split(captions_KN, math.ceil(captions_KN.size * batch / BLOCK))
    measured = [
        batch_loss(model.image_CD[rows_KN] @ model.text_CD[rows_KN].transpose(0, 2, 1), model.scale)
        for rows_KN in blocks
    ]
    loss_K, gap_K = (numpy.concatenate(values) for values in zip(*measured, strict=True))
    solved, loss, gap = (loss_K < SOLVED).mean(), numpy.median(loss_K), gap_K.mean()
    return Point(batch, draws, float(solved), float(loss), float(gap), needed_gap(batch, model.scale))


def batch_loss(cosine_KNN: numpy.ndarray, scale: float) -> tuple[numpy.ndarray, numpy.ndarray]:
    """(plain InfoNCE of each batch, mean gap of positive over hardest negative), both directions averaged, [K] each."""
    losses, gaps = [], []
    own = numpy.arange(cosine_KNN.shape[-1])
    positive_KN = cosine_KNN[:, own, own]
    for rows_KNN in (cosine_KNN, cosine_KNN.transpose(0, 2, 1)):
        below_KNN = rows_KNN - positive_KN[:, :, None]  # each negative minus its row's positive
        below_KNN[:, own, own] = -numpy.inf
        top_KN = below_KNN.max(-1)
        over_KN = numpy.maximum(scale * top_KN, 0)
        total_KN = numpy.exp(scale * below_KNN - over_KN[:, :, None]).sum(-1, dtype=numpy.float64)
        # ln(1 + sum exp), the largest exponent taken out; log1p keeps what is near zero
        losses.append((over_KN + numpy.log1p(total_KN + numpy.expm1(-over_KN))).mean(-1))
        gaps.append(-top_KN.mean(-1))
    return numpy.mean(losses, 0), numpy.mean(gaps, 0)
