"""One group of near-twins of each set of captions, for print: pictures above their captions, shared words bold."""

import textwrap
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.caption_sets import CaptionSet, read_sets, titles
from hnclip.report.geometry import caption_geometry
from hnclip.report.load import Study
from hnclip.report.near_twins import NONE, found_groups, group_words
from hnclip.report.page import UNREADABLE, read_small
from hnclip.report.twins import SIZE, Group, pieces, shared_words

WIDTH, PICTURE, HEAD = 1.75, 1.35, 0.3  # inches: a column, a picture's height, a group's heading
COLUMN, LINES = 33, 26  # letters of a line, lines at most
LETTERS = 6  # points
LINE = 1.3 * LETTERS / 72  # inches
WEIGHTS = (("bold", "#1a1a1a"), ("normal", "#6b6b6b"))  # of marked letters, of unmarked ones


def draw_near_twins(study: Study) -> Figure:
    """The group about the median caption of each set: what a usual caption stands beside."""
    names, found = titles(study), []
    for one in read_sets(study):
        if one.images > 1:
            _, _, twins = found_groups(one, caption_geometry(one.ids_N, one.text_ND), count=1)[-1]
            found += [(names[one.encoder, one.name], one, twins[0])] if twins else []
    if not found:
        return style.empty(NONE)
    heights = [_height(one, group) for _, one, group in found]
    figure = pyplot.figure(figsize=(SIZE * WIDTH, sum(heights)))
    top = sum(heights)
    for (title, one, group), height in zip(found, heights, strict=True):
        words = f"{title}: {group_words(group)}; shared words bold"
        figure.text(0.005, (top - 0.1) / sum(heights), words, va="top", fontsize=8)
        _group(figure, one, group, top - HEAD, sum(heights))
        top -= height
    return figure


def _height(found: CaptionSet, group: Group) -> float:
    lines = max(len(wrapped(found.captions[row])) for row in group.rows)
    return HEAD + (0 if found.alone else PICTURE) + 0.12 + (lines + 1) * LINE


def wrapped(caption: str) -> list[str]:
    """The caption in lines of one letter width; what is too long for print ends with an ellipsis."""
    return textwrap.wrap(caption, COLUMN, max_lines=LINES, placeholder=" …", break_on_hyphens=False)


def layers(line: str, shared: frozenset[str]) -> tuple[str, str]:
    """(marked, unmarked) letters of a line, with blanks for the other's letters, so that one fits over the other."""
    cut = pieces(line, shared)
    marked = "".join(text if chosen else " " * len(text) for text, chosen in cut)
    return marked, "".join(" " * len(text) if chosen else text for text, chosen in cut)


def _group(figure: Figure, found: CaptionSet, group: Group, top: float, whole: float) -> None:
    shared = shared_words(found.captions[row] for row in group.rows)
    for column, row in enumerate(group.rows):
        left = (column + 0.03) / SIZE
        if not found.alone:
            box = [left, (top - PICTURE) / whole, 0.94 / SIZE, PICTURE / whole]
            _picture(figure.add_axes(box), found.pictures[row])
        begin = top - (0 if found.alone else PICTURE) - 0.05
        for number, line in enumerate(wrapped(found.captions[row]), start=1):
            for text, (weight, ink) in zip(layers(line, shared), WEIGHTS, strict=True):
                look = {"fontsize": LETTERS, "weight": weight, "color": ink, "parse_math": False}
                figure.text(left, (begin - number * LINE) / whole, text, family="DejaVu Sans Mono", **look)


def _picture(axes: Axes, path: Path) -> None:
    axes.axis("off")
    axes.set_anchor("NW")
    try:
        axes.imshow(read_small(path)[0], interpolation="none")
    except UNREADABLE:
        axes.text(0, 1, f"no picture:\n{path.name}", va="top", fontsize=7, color=style.GREY, parse_math=False)
