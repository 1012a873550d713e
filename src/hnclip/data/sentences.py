"""Splits a caption into its sentences."""

import re

_END = re.compile(r"""(?<=[.!?])["'”’)\]]*\s+(?=["'“‘(\[]*[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω])""")
_ABBREVIATION = re.compile(
    r"""(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|approx|No|Fig|e\.g|i\.e|a\.m|p\.m)\.$"""
    r"""|["“](?:[A-Z]|Mr|Mrs|Dr|ST|St|NO|No|\d+)\.$"""
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, spaces at their ends removed: a sentence ends at . ! or ? before a space and a capital.

    Abbreviations and single initials do not end one, nor does the initial or number that a quotation begins with, as
    in "M. Lane". A text without any end is one sentence, a blank one none.
    """
    sentences, start = [], 0
    for gap in _END.finditer(text):
        closed = text[start : gap.end()].rstrip()
        if _ABBREVIATION.search(text[start : gap.start() + 1].rstrip()):
            continue
        sentences.append(closed.lstrip())
        start = gap.end()
    rest = text[start:].strip()
    return sentences + [rest] if rest else sentences
