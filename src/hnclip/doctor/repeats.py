"""Captions of different images that say the same: exact and near duplicates in clusters, told without any model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from hnclip.doctor.shingles import joined, near_pairs, shingles
from hnclip.doctor.words import folded
from hnclip.report.geometry import number_images

NEAR = 0.6  # Jaccard index of runs of three words: two captions of 100 words that differ in about a dozen places
DRAWS = 400  # batches of each size that are simulated


@dataclass(frozen=True)
class Repeats:
    """Clusters of rows, the largest first, each of at least two images.

    exact: the same words, whatever their case, spaces and marks. literal: rows that are another image's caption letter
    for letter, the only ones that `mask_duplicates` can tell. near: joined by pairs with an index of at least NEAR
    (copies included); least: the lowest index of such a pair, by cluster. exact_N and near_N number every row's
    cluster; a row in none has a number of its own.
    """

    exact: list[list[int]]
    near: list[list[int]]
    least: list[float]
    literal: int
    exact_N: numpy.ndarray
    near_N: numpy.ndarray

    def rows(self, clusters: list[list[int]]) -> int:
        return sum(map(len, clusters))


def find_repeats(ids_N: Sequence[str], captions_N: Sequence[str]) -> Repeats:
    """The clusters of captions; copies within one image are none."""
    image_N = number_images(ids_N)
    text_N = [" ".join(folded(caption)) for caption in captions_N]
    exact_N = _numbered(text_N)
    unique, first_U = numpy.unique(exact_N, return_index=True)
    found = shingles(text_N[row].split(" ") for row in first_U)
    pairs = near_pairs(found, NEAR)
    near_U = joined(len(unique), pairs)
    near_N = near_U[exact_N]
    lowest: dict[int, float] = {}
    for one, _, index in pairs:
        lowest[int(near_U[one])] = min(index, lowest.get(int(near_U[one]), 1.0))
    near = _clusters(near_N, image_N)
    literal = _clusters(_numbered(list(captions_N)), image_N)
    return Repeats(
        exact=_clusters(exact_N, image_N),
        near=near,
        least=[lowest.get(int(near_N[rows[0]]), 1.0) for rows in near],
        literal=sum(map(len, literal)),
        exact_N=exact_N,
        near_N=near_N,
    )


def _numbered(texts: list[str]) -> numpy.ndarray:
    number: dict[str, int] = {}
    return numpy.array([number.setdefault(text, len(number)) for text in texts])


def _clusters(number_N: numpy.ndarray, image_N: numpy.ndarray) -> list[list[int]]:
    """Rows of one number that are captions of two images or more, the largest first."""
    order = numpy.argsort(number_N, kind="stable")
    groups = numpy.split(order, numpy.flatnonzero(numpy.diff(number_N[order])) + 1)
    found = [rows.tolist() for rows in groups if len(rows) > 1 and len(set(image_N[rows])) > 1]
    return sorted(found, key=lambda rows: (-len(rows), rows[0]))


def in_batches(image_N: numpy.ndarray, cluster_N: numpy.ndarray, batch: int, seed: int = 0) -> tuple[float, float]:
    """What a random batch of `batch` images, one random caption each, holds of clusters.

    (mean over captions of how many others of the batch are of the same cluster; share of batches with any, 0..1).
    """
    random = numpy.random.default_rng([seed, batch])
    order = numpy.argsort(image_N, kind="stable")
    start = numpy.append(0, numpy.cumsum(numpy.bincount(image_N)))
    images, others, some = len(start) - 1, 0, 0
    for _ in range(DRAWS):
        chosen = random.choice(images, batch, replace=False)
        rows = order[random.integers(start[chosen], start[chosen + 1])]
        counts = numpy.unique(cluster_N[rows], return_counts=True)[1]
        others += int((counts * (counts - 1)).sum())
        some += bool((counts > 1).any())
    return others / (DRAWS * batch), some / DRAWS
