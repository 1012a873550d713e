"""Captions of different images that are hardest companions of each other, in groups, and the words they share."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

import numpy

from hnclip.report.geometry import Geometry, number_images

SIZE = 4
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_STOP_WORDS = frozenset(
    files("hnclip.data").joinpath("lexicon", "stopwords.txt").read_text(encoding="utf-8").split("\n")[:-1]
)


@dataclass(frozen=True)
class Group:
    """Rows of captions that are alike, with the mean and the least cosine between two of them."""

    rows: list[int]
    mean: float
    least: float


def closest(geometry: Geometry) -> numpy.ndarray:
    """Rows of captions, those with the hardest companions first."""
    return numpy.argsort(-geometry.hardest_N, kind="stable")


def typical(geometry: Geometry) -> numpy.ndarray:
    """Rows of captions, those whose hardest companion is as hard as the median caption's first."""
    return numpy.argsort(numpy.abs(geometry.hardest_N - numpy.median(geometry.hardest_N)), kind="stable")


def groups(
    ids_N: Iterable[str], text_ND: numpy.ndarray, geometry: Geometry, order: Iterable[int], count: int, used: set[int]
) -> list[Group]:
    """Up to `count` groups of SIZE captions of different images, grown from the rows that `order` names first.

    A group begins with a caption and its hardest companion; each further caption is the one whose least cosine with
    those already there is highest. An image stands in one group only: numbers of those shown are added to `used`.
    """
    image_N = number_images(ids_N)
    found: list[Group] = []
    for row in order:
        if len(found) == count:
            break
        if image_N[row] not in used and image_N[geometry.companion_N[row]] not in used:
            found.append(_grown(int(row), image_N, text_ND, used))
            used.update(int(image_N[member]) for member in found[-1].rows)
    return found


def _grown(row: int, image_N: numpy.ndarray, text_ND: numpy.ndarray, used: set[int]) -> Group:
    least_N = numpy.where(numpy.isin(image_N, list(used)), -numpy.inf, 1.0)
    rows: list[int] = []
    while len(rows) < SIZE and numpy.isfinite(least_N[row]):
        rows.append(row)
        least_N = numpy.minimum(least_N, (text_ND @ text_ND[row]).clip(-1, 1))
        least_N[image_N == image_N[row]] = -numpy.inf
        row = int(least_N.argmax())
    cosine_KK = (text_ND[rows] @ text_ND[rows].T).clip(-1, 1)
    pairs = cosine_KK[numpy.triu_indices(len(rows), 1)]
    return Group(rows, float(pairs.mean()), float(pairs.min()))


def content_words(caption: str) -> list[str]:
    """The words of a caption without stop words, in small letters, as often as they stand there."""
    return [word for word in map(str.casefold, _WORD.findall(caption)) if word not in _STOP_WORDS]


def shared_words(captions: Iterable[str]) -> frozenset[str]:
    """Content words that every one of these captions has."""
    return frozenset.intersection(*(frozenset(content_words(caption)) for caption in captions))


def pieces(caption: str, words: frozenset[str]) -> list[tuple[str, bool]]:
    """The caption cut into (text, whether it is one of the words), nothing lost."""
    found, end = [], 0
    for match in _WORD.finditer(caption):
        if match.group().casefold() in words:
            found += [(caption[end : match.start()], False), (match.group(), True)]
            end = match.end()
    found.append((caption[end:], False))
    return [piece for piece in found if piece[0]]
