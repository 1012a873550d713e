"""Words of a caption as the diagnosis counts and compares them."""

import re
import unicodedata

# Scripts that put no space between words: a letter of theirs counts as a word.
_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_LETTER = re.compile(_UNSPACED)
_WORD = re.compile(f"{_UNSPACED}|(?:(?!{_UNSPACED})[^\\W_])+")
PLACEHOLDERS = frozenset(
    "none nan na n/a n.a. null nil undefined unknown untitled missing empty todo tbd caption image photo "
    "no caption no description not available".split()
) | {"no caption", "no description", "not available", "-", "--", "---", "?", ".", "...", "#n/a"}


def count_words(caption: str) -> int:
    """Pieces between spaces; a letter of Chinese or Japanese, which has no spaces, counts as one."""
    return len(_LETTER.sub(lambda found: f" {found.group()} ", caption).split())


def folded(caption: str) -> list[str]:
    """The words in small letters, without marks and spaces; of a caption of marks alone, the marks as one word."""
    text = unicodedata.normalize("NFKC", caption).casefold()
    return _WORD.findall(text) or ["".join(text.split())]


def is_placeholder(caption: str) -> bool:
    """True for what tables and scripts write where there is no caption, such as `None` or `N/A`."""
    return " ".join(caption.casefold().split()) in PLACEHOLDERS
