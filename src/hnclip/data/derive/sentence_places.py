"""Where the sentences of a caption stand in it."""

import re


def places(caption: str, sentences: list[str]) -> list[tuple[int, int]]:
    """Start and end (exclusive) of each sentence among the caption's characters, each found after the one before it.

    So equal sentences get places of their own. Runs of white space may differ. Raises ValueError for a sentence that
    is not found.
    """
    found, after = [], 0
    for sentence in sentences:
        place = find(caption, sentence, after)
        if place is None:
            raise ValueError(f"the sentence {sentence!r} is not in the caption {caption!r} (from character {after} on)")
        found.append(place)
        after = place[1]
    return found


def find(caption: str, sentence: str, after: int = 0) -> tuple[int, int] | None:
    """The first place of a sentence from a character on, at best one that cuts no word; None where there is none."""
    words = sentence.split()
    if not words:
        return None
    plain = r"\s+".join(map(re.escape, words))
    whole = ("" if re.match(r"\W", words[0]) else r"(?<!\w)") + plain
    whole += "" if re.search(r"\W$", words[-1]) else r"(?!\w)"
    match = re.compile(whole).search(caption, after) or re.compile(plain).search(caption, after)
    return match.span() if match else None
