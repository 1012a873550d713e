"""Captions without words of a kind, such as colours: StructXLIP's structure-centric captions, by our own word lists.

The lists are text files in `lexicon/`, one word or phrase a line.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from hnclip.options import unknown

KINDS = ("colours", "materials", "textures")
FEWEST_CONTENT_WORDS = 2

_WORD = re.compile(r"\w+")
_GONE = "\0"  # stands where a phrase was until the text is tidied
_POINT = r"\.(?!\d)"  # not the point of a number such as .5
_TIDY = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"""[("“‘\[]\0(?:\s*\0)*[)"”’\]]""", _GONE),  # a bracket or a quotation without content
        (r"""(?<=[("“‘\[])\0\s+""", ""),
        (r"""\s+\0(?=[)"”’\]])""", ""),
        (r"\0", ""),
        (r"\s+", " "),
        (rf"(?<=[.!?]) (?:[ ,;:!?]|{_POINT})+(?= |$)", ""),  # a sentence that holds nothing, or begins with a comma
        (rf" +(?=[,;:!?]|{_POINT})", ""),
        (r"([,;:])(?: ?[,;:])+", r"\1"),
        (rf"[,;:] ?(?=[!?]|{_POINT})", ""),
        (rf"^(?:[ ,;:!?]|{_POINT})+", ""),
    )
)


@dataclass(frozen=True)
class Filtered:
    """A caption as filtered: `removed` counts words, `kept` says that the original stands as too little was left."""

    text: str
    removed: int
    kept: bool


class WordFilter:
    """Deletes whole words and phrases of some kinds, in any case, the longest first, then tidies what is left.

    A phrase matches with spaces or hyphens between its words. A hyphenated compound goes where all its parts are
    listed (`gold-colored`, `red-and-white`) and stays otherwise (`red-haired`). Articles and conjunctions stay.
    Without kinds every caption stays as it is.
    """

    def __init__(self, kinds: Iterable[str]):
        phrases = sorted(
            {phrase for kind in kinds for phrase in word_list(kind)}, key=lambda phrase: (-len(phrase), phrase)
        )
        one = "|".join(r"(?:\s+|-)".join(map(re.escape, re.split("[ -]", phrase))) for phrase in phrases)
        self._phrase = phrases and re.compile(
            rf"(?<!\w)(?<!\w[-'’])(?:{one})(?:(?:-and-|[-/])(?:{one}))*(?!\w|[-'’]\w)", re.IGNORECASE
        )

    def __call__(self, caption: str) -> Filtered:
        gone = []

        def delete(phrase: re.Match) -> str:
            gone.extend(_WORD.findall(phrase.group()))
            return _GONE

        text = self._phrase.sub(delete, caption.replace(_GONE, " ")) if self._phrase else caption
        if not gone:
            return Filtered(caption, 0, kept=False)
        for pattern, replacement in _TIDY:
            text = pattern.sub(replacement, text)
        return enough(caption, Filtered(text.strip(), len(gone), kept=False))


def enough(caption: str, filtered: Filtered) -> Filtered:
    """The filtered caption, or the original where fewer than two content words would be left."""
    content = [word for word in _WORD.findall(filtered.text.casefold()) if word not in _STOP_WORDS]
    return filtered if len(content) >= FEWEST_CONTENT_WORDS else Filtered(caption, 0, kept=True)


def word_list(kind: str) -> list[str]:
    """The words and phrases of a kind."""
    if kind not in KINDS:
        raise ValueError(unknown("word list", kind, KINDS))
    return _lines(kind)


def _lines(name: str) -> list[str]:
    return files("hnclip.data").joinpath("lexicon", f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]


_STOP_WORDS = frozenset(_lines("stopwords"))
