"""Groups of captions side by side, with their pictures where there are any and the words that they share marked."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from hnclip.doctor.captions import Captions
from hnclip.report.page import escape, picture
from hnclip.report.twins import pieces, shared_words

SHOWN = 4  # captions of a cluster that are shown; the rest are counted
LETTERS = 420  # of a caption that stand open; the rest unfolds


def row_of(captions: Captions, rows: Sequence[int], most: int = SHOWN) -> str:
    """These captions as one row of figures; shared content words are those of all captions that are shown."""
    shown = rows[:most]
    shared = shared_words(captions.rows[row].caption for row in shown)
    figures = "\n".join(figure(captions, row, shared) for row in shown)
    kind = "row few" if len(shown) < most else "row"
    return f'<div class="{kind}">\n{figures}\n</div>'


def figure(captions: Captions, row: int, shared: frozenset[str]) -> str:
    """One caption beneath its picture and its name."""
    found = captions.rows[row]
    shown = picture(found.path, f"picture {found.id}") if captions.pictured else ""
    name = PurePath(found.id).name if captions.named else found.where
    return f"<figure>{shown}<figcaption><b>{escape(name)}</b><br>{_folded(found.caption, shared)}</figcaption></figure>"


def _folded(caption: str, shared: frozenset[str]) -> str:
    """The caption with its shared words marked; what is longer than LETTERS unfolds, without a script."""
    cut = caption.rfind(" ", 0, LETTERS) if len(caption) > LETTERS * 1.25 else -1
    if cut < 0:
        return _marked(pieces(caption, shared))
    head, rest = pieces(caption[:cut], shared), pieces(caption[cut:], shared)
    return (
        f"{_marked(head)}<details><summary>… {len(caption[cut:].split())} more words</summary>{_marked(rest)}</details>"
    )


def _marked(parts: Iterable[tuple[str, bool]]) -> str:
    return "".join(f"<mark>{escape(text)}</mark>" if marked else escape(text) for text, marked in parts)
