"""Captions that share most of their runs of words: MinHash finds candidates, their exact Jaccard index decides.

Memory is linear in the words: 8 bytes a word and 512 bytes a caption; 100,000 captions of 120 words take 150 MB.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy

RUN = 3  # words of a shingle; a shorter caption is one shingle
BANDS, ROWS = 32, 4  # 98.8 % of pairs at an index of .6 are candidates, 99.98 % at .7
_PRIME = numpy.uint64(2**31 - 1)


@dataclass(frozen=True)
class Shingles:
    """Hashes of each caption's distinct shingles, ascending, one caption after the other; `start` [N + 1]."""

    hashes: numpy.ndarray
    start: numpy.ndarray

    def __len__(self) -> int:
        return len(self.start) - 1

    def of(self, row: int) -> numpy.ndarray:
        return self.hashes[self.start[row] : self.start[row + 1]]

    def jaccard(self, one: int, other: int) -> float:
        """Shingles that both have over shingles that either has, 0..1."""
        a, b = self.of(one), self.of(other)
        both = numpy.intersect1d(a, b, assume_unique=True).size
        return both / (len(a) + len(b) - both)


def shingles(words_N: Iterable[Sequence[str]]) -> Shingles:
    """The shingles of captions given as words; a caption has at least one word."""
    number: dict[str, int] = {}
    parts, start = [], [0]
    for words in words_N:
        ids = numpy.array([number.setdefault(word, len(number)) for word in words], numpy.uint64)
        run = min(RUN, len(ids))
        value = numpy.full(len(ids) - run + 1, 1469598103934665603 + run, numpy.uint64)
        for offset in range(run):
            value = _mixed(value ^ ids[offset : len(ids) - run + 1 + offset])
        parts.append(numpy.unique(value))
        start.append(start[-1] + len(parts[-1]))
    return Shingles(numpy.concatenate(parts), numpy.array(start))


def near_pairs(found: Shingles, least: float) -> list[tuple[int, int, float]]:
    """Pairs whose Jaccard index is at least `least`, without those that a chain of the others joins already.

    Within a band's bucket each caption is compared with the bucket's first and with the one before it, so that a
    thousand captions of one template take two thousand comparisons. Two that are like each other but not like these
    need another band to be found.
    """
    signature_NH = _signatures(found)
    parent = numpy.arange(len(found))
    pairs = []
    seen: set[tuple[int, int]] = set()
    for band in range(BANDS):
        for one, other in _candidates(signature_NH[:, band * ROWS : (band + 1) * ROWS]):
            if (one, other) in seen or _root(parent, one) == _root(parent, other):
                continue
            seen.add((one, other))
            index = found.jaccard(one, other)
            if index >= least:
                parent[_root(parent, other)] = _root(parent, one)
                pairs.append((one, other, index))
    return pairs


def joined(count: int, pairs: Iterable[tuple[int, int, float]]) -> numpy.ndarray:
    """A number for each of `count` rows, equal where a chain of pairs joins them, int [N]."""
    parent = numpy.arange(count)
    for one, other, _ in pairs:
        parent[_root(parent, other)] = _root(parent, one)
    return numpy.array([_root(parent, row) for row in range(count)])


def _mixed(value: numpy.ndarray) -> numpy.ndarray:
    """Hashes of 64-bit numbers (the finaliser of splitmix64)."""
    value = value + numpy.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return value ^ (value >> numpy.uint64(31))


def _signatures(found: Shingles) -> numpy.ndarray:
    """Least hashes of each caption under BANDS x ROWS permutations, uint32 [N, H]."""
    random = numpy.random.default_rng(0)
    factors = random.integers(1, int(_PRIME), BANDS * ROWS).astype(numpy.uint64)
    addends = random.integers(0, int(_PRIME), BANDS * ROWS).astype(numpy.uint64)
    signature_NH = numpy.empty((len(found), BANDS * ROWS), numpy.uint32)
    for first in range(0, len(found), 4096):  # captions at once, so that nothing of all words' size is held
        start = found.start[first : first + 4097]
        value = found.hashes[start[0] : start[-1]] % _PRIME
        for column, (factor, addend) in enumerate(zip(factors, addends, strict=True)):
            least = numpy.minimum.reduceat((value * factor + addend) % _PRIME, start[:-1] - start[0])
            signature_NH[first : first + len(least), column] = least
    return signature_NH


def _candidates(part_NR: numpy.ndarray) -> Iterable[tuple[int, int]]:
    """Pairs of rows with the very same part of the signature: each with its bucket's first and with the one before."""
    order = numpy.lexsort(part_NR.T[::-1])
    new_N = numpy.append(True, (part_NR[order[1:]] != part_NR[order[:-1]]).any(1))
    first = before = 0
    for row, new in zip(order.tolist(), new_N.tolist(), strict=True):
        if new:
            first = row
        else:
            yield first, row
            if before != first:
                yield before, row
        before = row


def _root(parent: numpy.ndarray, row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return int(row)
