"""A few captions with the images that plain fine-tuning and the boost find for them, the true one framed."""

import textwrap

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.load import Study
from hnclip.report.methods import Setting, setting_words
from hnclip.report.page import UNREADABLE, read_small
from hnclip.report.retrieved import TOP, Compared, Example, compared, nothing
from hnclip.report.retrieved_gallery import rank_words
from hnclip.report.searches import CAPTION

QUERIES = 2  # that gain, and that lose
SIDE = 0.95  # a picture's room, inches
WIDTHS = (2.75, 1.15, *[SIDE] * TOP)  # of the caption, of a method's words, of the pictures
WHOLE = {"left": 0, "right": 1, "bottom": 0, "top": 1}
TRUE = "#009e73"
LETTERS, LINES = 50, 15  # of a caption


def draw_retrieved(study: Study) -> Figure:
    """Captions whose image's rank the boost changes most on the first test split, and what each method finds.

    QUERIES that gain and QUERIES that lose.
    """
    found = [item for item in compared(study) if _chosen(item)]
    if not found:
        return style.empty(nothing(study))
    item = found[0]
    examples = _chosen(item)
    size = (sum(WIDTHS), 2 * len(examples) * SIDE)
    figure, axes = pyplot.subplots(
        2 * len(examples),
        len(WIDTHS),
        squeeze=False,
        figsize=size,
        gridspec_kw={"width_ratios": WIDTHS, **WHOLE, "hspace": 0.08, "wspace": 0.05},
    )
    for nth, example in enumerate(examples):
        _example(axes[2 * nth : 2 * nth + 2], item, example)
    plain = item.methods[0]
    place = setting_words(study, Setting(plain.backbone, plain.train, plain.framework))
    title = f"{place} on {item.split.name}, seed {item.seed}: first {TOP} images, the true one framed"
    figure.text(0, 1 + 0.1 / size[1], title, ha="left", va="bottom", fontsize=9)
    return figure


def _chosen(item: Compared) -> list[Example]:
    captions = [example for example in item.examples if example.direction == CAPTION]
    return [e for e in captions if e.gained][:QUERIES] + [e for e in captions if not e.gained][:QUERIES]


def _example(axes, item: Compared, example: Example) -> None:
    """Two rows of panels: the caption beside both, and a row of pictures for each method."""
    relevant = set(item.split.relevant[example.direction][example.query].tolist())
    for panel in axes.flat:
        panel.grid(False)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.axis("off")
    lines = textwrap.wrap(item.split.captions_C[example.query], LETTERS, max_lines=LINES, placeholder=" …")
    heading = "gains by the boost" if example.gained else "loses by the boost"
    _words(axes[0][0], f"{heading}:\n" + "\n".join(lines), va="top", y=1.0, fontsize=7)
    for nth, (row, method) in enumerate(zip(axes, item.methods, strict=True)):
        words = textwrap.fill(f"{method.label}: {rank_words(item, example, nth)}", 18)
        _words(row[1], words, va="center", y=0.5, fontsize=8, color=style.colour(method))
        for panel, image in zip(row[2:], example.tops[nth].tolist(), strict=False):
            _picture(panel, item, image, image in relevant)


def _words(axes: Axes, words: str, y: float, **look) -> None:
    axes.text(0, y, words.replace("$", r"\$"), ha="left", transform=axes.transAxes, **look)


def _picture(axes: Axes, item: Compared, image: int, truth: bool) -> None:
    axes.axis("on")
    try:
        axes.imshow(read_small(item.split.pictures_I[image])[0], interpolation="none")
    except UNREADABLE:
        axes.text(0.5, 0.5, "no picture", ha="center", va="center", fontsize=7, transform=axes.transAxes)
    for spine in axes.spines.values():
        spine.set(visible=True, color=TRUE if truth else style.GREY, linewidth=3 if truth else 0.5)
