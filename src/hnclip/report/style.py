"""How figures look: one colour and dash a method, everywhere; Okabe and Ito's colours, safe for colour-blind eyes."""

from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from hnclip.report.load import Study, named  # noqa: E402
from hnclip.report.methods import Method, kind_of  # noqa: E402

COLOURS = {
    "zero_shot": "#6b6b6b",
    "plain": "#0072b2",
    "scale": "#56b4e9",
    "boosted": "#d55e00",
    "margin": "#009e73",
    "constant": "#009e73",
    "centred": "#e69f00",
    "shuffled": "#e69f00",
    "frozen": "#cc79a7",
    "images": "#cc79a7",
}
OTHER = "#8a6d00"  # every other control; in figures of many methods names tell them apart
DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)), (0, (8, 2)), (0, (1, 3))]
MARKERS = {"plain": "o", "scale": "v", "boosted": "s", "margin": "D", "frozen": "^", "centred": "X"}
PANEL = (2.7, 2.1)  # a panel's width and height, inches
MARGINS = (0.6, 0.45, 0.32)  # left of the first panel, below the last one, above each
GAP = 0.25
GREY = "#4d4d4d"
# Without these every build of the same data would be another file.
METADATA = {
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}

RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}


def look(study: Study, methods: Sequence[Method]) -> dict[Method, dict]:
    """Colour, dash and marker of each line, the same in every figure of a study.

    Methods of one kind share a colour; the one that the config's grids name first is solid, the others are dashed.
    """
    names = named(study.config, "losses")
    kinds = {name: kind_of(study.config["losses"][name]) for name in names}
    found = {}
    for method in methods:
        alike = [name for name in names if kinds[name] == kinds[method.loss]]
        dash = DASHES[alike.index(method.loss) % len(DASHES)]
        marker = MARKERS.get(method.kind, "o")
        found[method] = {"color": colour(method), "linestyle": dash, "marker": marker}
    return found


def colour(method: Method) -> str:
    """The colour of a method, the same in every figure."""
    return COLOURS.get(method.kind, OTHER)


def panels(rows: int, columns: int, right: float = 0.0) -> tuple[Figure, list[list[Axes]]]:
    """A grid of panels that share axes; `right` inches beside each are left for its lines' names."""
    (width, height), (left, bottom, top) = PANEL, MARGINS
    whole = left + columns * (width + right) + (columns - 1) * GAP, bottom + rows * (height + top)
    figure, axes = pyplot.subplots(rows, columns, squeeze=False, sharex=True, sharey=True, figsize=whole)
    figure.subplots_adjust(
        left=left / whole[0],
        right=1 - right / whole[0],
        bottom=bottom / whole[1],
        top=1 - top / whole[1],
        wspace=(right + GAP) / width,
        hspace=top / height,
    )
    return figure, axes.tolist()


def spread(heights: list[float], gap: float, low: float, high: float) -> list[float]:
    """The heights moved as little as it takes to lie `gap` apart, in their order, between low and high if they fit."""

    def start(block: list[int]) -> float:
        wanted = sum(heights[index] - nth * gap for nth, index in enumerate(block)) / len(block)
        return min(max(wanted, low), max(low, high - gap * (len(block) - 1)))

    blocks: list[list[int]] = []  # runs of touching names, from below
    for index in sorted(range(len(heights)), key=heights.__getitem__):
        blocks.append([index])
        while len(blocks) > 1 and start(blocks[-2]) + gap * len(blocks[-2]) > start(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    placed = [0.0] * len(heights)
    for block in blocks:
        for nth, index in enumerate(block):
            placed[index] = start(block) + nth * gap
    return placed


def name_lines(axes: Axes, ends: list[tuple[str, float, float, str]]) -> None:
    """Write each line's name (words, the end's x and y, colour) right of the panel, moved apart, with a hair to it."""
    if not ends:
        return
    low, high = axes.get_ylim()
    inches = axes.get_position().height * axes.figure.get_figheight()
    heights = spread([y for _, _, y, _ in ends], 0.135 * (high - low) / inches, low, high)
    for (words, x, y, colour), height in zip(ends, heights, strict=True):
        axes.annotate(
            words,
            xy=(x, y),
            xytext=(1.08, height),
            textcoords=("axes fraction", "data"),
            color=colour,
            va="center",
            fontsize=8,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 2,
            },
        )


def empty(words: str) -> Figure:
    """A figure that says why there is nothing to see."""
    figure, axes = pyplot.subplots(figsize=(PANEL[0] * 1.5, 1.2))
    axes.axis("off")
    axes.text(0.5, 0.5, words, ha="center", va="center", wrap=True, color=GREY)
    return figure
