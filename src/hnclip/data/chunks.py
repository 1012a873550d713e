"""Sliding windows of words over a caption's clauses, as token spans: StructXLIP's text chunks."""

import re
from dataclasses import dataclass

import numpy as np
import torch

from hnclip.data.offsets import locate

MOST_CHUNKS = 64  # of a caption; those after it are left out

_CLAUSE_END = re.compile(r"[.,;!?]+")
_WORD = re.compile(r"\w+")
_WINDOWS = ((4, 2), (10, 3), (20, 4), (40, 5))  # (words of the clause at most, words of a window)
_LONGEST_WINDOW = 6


@dataclass(frozen=True)
class Chunks:
    """Token spans of the chunks of captions, one after the other."""

    span: np.ndarray  # int32 [chunks, 2]
    start: np.ndarray  # int64 [captions + 1]: where each caption's begin

    @classmethod
    def of(cls, spans: list[list[tuple[int, int]]]) -> "Chunks":
        """The chunks of captions, each a list of spans."""
        flat = np.array([span for own in spans for span in own], np.int32).reshape(-1, 2)
        return cls(flat, np.cumsum([0] + [len(own) for own in spans]))

    def batch(self, rows: np.ndarray) -> torch.Tensor:
        """Spans of these captions, int64 [N, C, 2] where C is the most that one of them has; (0, 0) is padding."""
        rows = np.asarray(rows, np.int64)
        count_N = np.diff(self.start)[rows]
        place_C = np.arange(count_N.max(initial=0))
        inside_NC = place_C < count_N[:, None]
        span_NC2 = np.zeros((*inside_NC.shape, 2), np.int64)
        span_NC2[inside_NC] = self.span[(self.start[rows][:, None] + place_C)[inside_NC]]
        return torch.from_numpy(span_NC2)


def window(words: int) -> int:
    """Words of a window in a clause of so many words."""
    return next((size for most, size in _WINDOWS if words <= most), _LONGEST_WINDOW)


def chunk_spans(caption: str, tokenizer, context: int) -> list[tuple[int, int]]:
    """Token spans of the caption's chunks: start token at 0, end exclusive, in order, at most `MOST_CHUNKS`.

    A clause ends at a run of . , ; ! ? and a word is a maximal run of letters, digits and underscores. A window slides
    by one word; a clause shorter than its window has none. A chunk that the context cuts is left out, so that every
    span lies before the end token.
    """
    located = locate(caption, tokenizer)
    begins, ends, firsts, lasts = [], [], [], []
    start = words = 0
    for stop in [*(match.start() for match in _CLAUSE_END.finditer(located.text)), len(located.text)]:
        found = [match.span() for match in _WORD.finditer(located.text, start, stop)]
        size = window(len(found))
        begins += [begin for begin, _ in found]
        ends += [end for _, end in found]
        windows = range(words, words + len(found) - size + 1)
        firsts += windows
        lasts += [first + size - 1 for first in windows]
        words += len(found)
        start = stop
        if len(firsts) >= MOST_CHUNKS:
            break
    first_W, last_W = located.tokens_of(np.array(begins, np.int64), np.array(ends, np.int64))
    spans_C2 = np.stack([first_W[firsts[:MOST_CHUNKS]], last_W[lasts[:MOST_CHUNKS]]], axis=1) + 1
    return [(begin, end) for begin, end in spans_C2.tolist() if end < context]
