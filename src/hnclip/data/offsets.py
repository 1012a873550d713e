"""Where each token of a caption lies in its cleaned text, and where a stretch of the caption lies among its tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

import numpy as np


@dataclass(frozen=True)
class Located:
    """A cleaned text, its token ids (start and end token left out) and the characters that each token covers.

    A character of several bytes can be split over tokens: each of them then covers the whole character.
    """

    text: str
    ids_T: np.ndarray  # int32 [tokens]
    begin_T: np.ndarray  # int64 [tokens]: the first character of each token, never decreasing
    end_T: np.ndarray  # int64 [tokens]: one past the last character, never decreasing

    def tokens_of(self, begin, end):
        """Token ranges, end exclusive, that touch the characters from `begin` to `end`; numbers or arrays."""
        return np.searchsorted(self.end_T, begin, "right"), np.searchsorted(self.begin_T, end, "left")


def locate(text: str, tokenizer) -> Located:
    """The tokens that open_clip's SimpleTokenizer makes of a text, with their characters in the cleaned text."""
    text = tokenizer.clean_fn(text)
    ids, begins, ends = [], [], []
    for found in tokenizer.pat.finditer(text):
        word, place = found.group(), found.start()
        pieces = tokenizer.bpe("".join([tokenizer.byte_encoder[byte] for byte in word.encode("utf-8")])).split(" ")
        ids += [tokenizer.encoder[piece] for piece in pieces]
        for begin, end in [(0, len(word))] if len(pieces) == 1 else _characters(word, pieces):
            begins.append(place + begin)
            ends.append(place + end)
    return Located(text, np.array(ids, np.int32), np.array(begins, np.int64), np.array(ends, np.int64))


def _characters(word: str, pieces: list[str]) -> list[tuple[int, int]]:
    """The characters of a word that each of its pieces covers; a piece is written with one letter a byte."""
    of_byte = [place for place, letter in enumerate(word) for _ in letter.encode("utf-8")]
    stops = list(accumulate(len(piece.removesuffix("</w>")) for piece in pieces))
    return [(of_byte[start], of_byte[stop - 1] + 1) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]


def span_in_caption(caption: str, start: int, end: int, tokenizer) -> tuple[int, int]:
    """Token positions of `caption[start:end]` in the whole caption, the start token at 0, end exclusive.

    (0, 0) where the stretch holds no token. `cut_span` says what a context leaves of it.
    """
    located = locate(caption, tokenizer)
    begin, stop = _cleaned_range(caption, start, end, located.text, tokenizer.clean_fn)
    if begin >= stop:
        return 0, 0
    first, last = located.tokens_of(begin, stop)
    return int(first) + 1, int(last) + 1


def cut_span(span: tuple[int, int], context: int) -> tuple[int, int]:
    """What is left of a span: it ends at the last token before the end token; (0, 0) where it is cut off wholly."""
    first, last = span[0], min(span[1], context - 1)
    return (first, last) if first < last else (0, 0)


def _cleaned_range(caption: str, start: int, end: int, cleaned: str, clean: Callable[[str], str]) -> tuple[int, int]:
    """The characters of the cleaned caption that came from `caption[start:end]`.

    Cleaning the pieces apart gives the pieces of the cleaned caption, but for the spaces between them, unless it looks
    further than a piece: at broken encodings, or at an entity that the stretch cuts. There the two texts are aligned.
    """
    before, inside = clean(caption[:start]), clean(caption[start:end])
    if not inside:
        return 0, 0
    begin = len(before) + cleaned.startswith(" ", len(before))
    if cleaned.startswith(before) and cleaned.startswith(inside, begin):
        return begin, begin + len(inside)
    return _shared_range(caption, start, end, cleaned)


def _shared_range(caption: str, start: int, end: int, cleaned: str) -> tuple[int, int]:
    """From the first to the last character of the stretch that an alignment finds again in the cleaned text."""
    lowered = "".join(letter.lower()[0] for letter in caption)  # as many letters as the caption has
    kept = [
        (block.b + max(start - block.a, 0), block.b + min(end - block.a, block.size))
        for block in SequenceMatcher(None, lowered, cleaned, autojunk=False).get_matching_blocks()
        if block.a < end and block.a + block.size > start
    ]
    return (kept[0][0], kept[-1][1]) if kept else (0, 0)
