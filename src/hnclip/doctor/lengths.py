"""How long captions are, and how much of them a model's context cuts off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from hnclip.doctor.words import count_words

CLIP, LONG = 77, 248  # contexts that CLIP models have: as released, and stretched for long captions
MOST = 20_000  # captions that are tokenised; of more, this many drawn by chance


@dataclass(frozen=True)
class Cut:
    """What a context cuts off: the context in tokens, the share of captions cut, the share of all tokens lost, 0..1."""

    context: int
    captions: float
    tokens: float


@dataclass(frozen=True)
class Lengths:
    """Words of all N captions; tokens of those tokenised [M], special tokens included, of one tokenizer.

    special: how many of a caption's tokens are start and end. context: the model's own.
    """

    words_N: numpy.ndarray
    tokens_M: numpy.ndarray
    special: int
    tokenizer: str
    context: int

    @property
    def cuts(self) -> list[Cut]:
        """At the model's own context, and at CLIP's and the stretched one."""
        return [self.cut(context) for context in sorted({self.context, CLIP, LONG})]

    def cut(self, context: int) -> Cut:
        over_M = numpy.maximum(self.tokens_M - context, 0)
        return Cut(context, float((over_M > 0).mean()), float(over_M.sum() / (self.tokens_M - self.special).sum()))

    @property
    def record(self) -> dict[str, Any]:
        return {
            "words": spread(self.words_N),
            "tokens": spread(self.tokens_M),
            "tokenizer": self.tokenizer,
            "context": self.context,
            "cuts": [vars(cut) for cut in self.cuts],
        }


def words(captions_N: Sequence[str]) -> numpy.ndarray:
    """Words of each caption, int [N]."""
    return numpy.array([count_words(caption) for caption in captions_N])


def spread(values_N: numpy.ndarray) -> dict[str, float]:
    """How many values there are, their least, mean, median, 95th percentile and largest."""
    return {
        "n": len(values_N),
        "least": int(values_N.min()),
        "mean": round(float(values_N.mean()), 2),
        "median": float(numpy.median(values_N)),
        "p95": float(numpy.percentile(values_N, 95)),
        "most": int(values_N.max()),
    }
