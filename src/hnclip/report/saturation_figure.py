"""Solved batches and gaps by contrast, from the embeddings of trained cells and frozen backbones."""

import pandas
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from hnclip.report import style
from hnclip.report.layout import Ends
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, setting_words
from hnclip.report.saturation import NOTHING, saturation_points
from hnclip.report.solved import CONTRASTS

RIGHT = 1.5  # inches beside a panel for its lines' names
COLUMNS = 2  # splits of a setting: its training split and the first test split
KEYS = ["backbone", "train", "framework"]
DOTTED = (0, (1, 2))
PARTS = (("solved", 1.0, "solved batches (%)"), ("gap_x100", 0.01, "gap to the hardest\nnegative (cosine)"))


def draw_saturation(study: Study) -> Figure:
    """Two rows a setting: share of solved batches, and gap; a column a split, the training split first.

    Seeds are thin lines, their mean a thick one; dotted is the gap that a solved batch needs.
    """
    points = saturation_points(study)
    if points.empty:
        return style.empty(NOTHING)
    trained = points[points["seed"].notna()]
    settings = [Setting(*key) for key in (points if trained.empty else trained)[KEYS].drop_duplicates().to_numpy()]
    figure, axes = _panels(2 * len(settings), COLUMNS)
    for nth, setting in enumerate(settings):
        _draw_setting(study, axes[2 * nth : 2 * nth + 2], setting, points)
    for panel in axes[-1]:
        panel.set_xlabel("pairs that a batch contrasts (log scale)")
    return figure


def _draw_setting(study: Study, axes: list[list[Axes]], setting: Setting, points: pandas.DataFrame) -> None:
    """Two rows of panels: the methods of a setting, and its frozen backbone where that is on the same split."""
    own = (points[KEYS] == [setting.backbone, setting.train, setting.framework]).all(axis=1)
    frozen = points["seed"].isna() & (points["backbone"] == setting.backbone)
    splits = list(points[own]["split"].unique())[:COLUMNS]
    title = setting_words(study, setting) if setting.train else setting.backbone
    for row, (name, unit, words) in zip(axes, PARTS, strict=True):
        row[0].set_ylabel(words)
        ends = {
            panel: _panel(study, panel, points[(own | frozen) & (points["split"] == split)], name, unit)
            for panel, split in zip(row, splits, strict=False)
        }
        _limits(list(ends), name)
        for panel, found in ends.items():
            style.name_lines(panel, found)
        for panel in row[len(splits) :]:
            panel.axis("off")
    for panel, split in zip(axes[0], splits, strict=False):
        panel.set_title(f"{title}: {split}", loc="left")


def _panels(rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """A grid whose panels share x, and y with their row; room is left beside each."""
    (width, height), (left, bottom, top) = style.PANEL, style.MARGINS
    whole = left + columns * (width + RIGHT) + (columns - 1) * style.GAP, bottom + rows * (height + top)
    figure, axes = pyplot.subplots(rows, columns, squeeze=False, sharex=True, sharey="row", figsize=whole)
    figure.subplots_adjust(
        left=left / whole[0],
        right=1 - RIGHT / whole[0],
        bottom=bottom / whole[1],
        top=1 - top / whole[1],
        wspace=(RIGHT + style.GAP) / width,
        hspace=top / height,
    )
    return figure, axes.tolist()


def _panel(study: Study, axes: Axes, lines: pandas.DataFrame, name: str, unit: float) -> Ends:
    """One line a method, in the panel of gaps also what each needs, dotted; the lines' ends."""
    ends = []
    for method, rows in lines.groupby("method", sort=False):
        look = _look(study, method)
        value_BS = unit * rows.pivot_table(index="batch", columns=rows["seed"].fillna(-1), values=name)
        if value_BS.shape[1] > 1:
            axes.plot(value_BS.index, value_BS.to_numpy(), linewidth=0.5, alpha=0.6, color=look["color"])
        mean_B = value_BS.mean(axis=1)
        axes.plot(mean_B.index, mean_B, linewidth=1.6, markersize=3.5, **look)
        ends.append((method.label, mean_B.index[-1], float(mean_B.iloc[-1]), look["color"]))
        if name != "solved":
            needed_B = unit * rows.groupby("batch")["needed_x100"].mean()
            axes.plot(needed_B.index, needed_B, linewidth=1, linestyle=DOTTED, color=look["color"])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(CONTRASTS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([str(batch) for batch in CONTRASTS])
    if name != "solved":
        place = {"ha": "right", "va": "top", "transform": axes.transAxes}
        axes.text(0.98, 0.97, "dotted: gap of a solved batch", fontsize=8, color=style.GREY, **place)
    return ends


def _limits(panels: list[Axes], name: str) -> None:
    """The y axis that panels share: all per cents, or all gaps with room for words above."""
    if name == "solved":
        panels[0].set_ylim(-3, 103)
        return
    heights = [height for panel in panels for line in panel.lines for height in line.get_ydata()]
    span = max(heights) - min(heights)
    panels[0].set_ylim(min(heights) - 0.06 * span, max(heights) + 0.15 * span)


def _look(study: Study, method: Method) -> dict:
    if method.kind == "zero_shot":
        return {"color": style.COLOURS["zero_shot"], "linestyle": (0, (2, 2)), "marker": "o"}
    return style.look(study, [method])[method]
