"""Solved batches and gaps by contrast, from the embeddings of trained cells and frozen backbones."""

import pandas
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from hnclip.report import style
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, setting_words
from hnclip.report.saturation import NOTHING, saturation_points
from hnclip.report.solved import CONTRASTS

RIGHT = 1.5  # inches beside a panel for its lines' names
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
    keys = ["backbone", "train", "framework"]
    settings = [Setting(*key) for key in trained[keys].drop_duplicates().itertuples(index=False)]
    if not settings:
        settings = [Setting(name, "", "zero_shot") for name in points["backbone"].unique()]
    splits = _splits(points)
    figure, axes = _panels(2 * len(settings), len(splits))
    for nth, setting in enumerate(settings):
        for column, split in enumerate(splits):
            here = points[(points["split"] == split) & (points["backbone"] == setting.backbone)]
            own = (here[keys] == [setting.backbone, setting.train, setting.framework]).all(axis=1)
            lines = here[own | here["seed"].isna()]
            for row, (name, unit, words) in enumerate(PARTS):
                panel = axes[2 * nth + row][column]
                _panel(study, panel, lines, name, unit)
                if column == 0:
                    panel.set_ylabel(words)
            title = setting_words(study, setting) if setting.train else setting.backbone
            axes[2 * nth][column].set_title(f"{title}: {split}", loc="left")
    for panel in axes[-1]:
        panel.set_xlabel("pairs that a batch contrasts (log scale)")
    return figure


def _splits(points: pandas.DataFrame) -> list[str]:
    """The first split of the files, which is the training split, and the first one that a frozen backbone is on."""
    first = points["split"].iloc[0]
    others = [split for split in points["split"].unique() if split != first]
    return [first, *others[:1]]


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


def _panel(study: Study, axes: Axes, lines: pandas.DataFrame, name: str, unit: float) -> None:
    """One line a method; in the panel of gaps also what each needs, dotted."""
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
    if name == "solved":
        axes.set_ylim(-3, 103)
    else:
        axes.set_ylim(top=max(axes.get_ylim()[1], 1.12 * max(line.get_ydata().max() for line in axes.lines)))
        place = {"ha": "right", "va": "top", "transform": axes.transAxes}
        axes.text(0.98, 0.97, "dotted: gap of a solved batch", fontsize=8, color=style.GREY, **place)
    style.name_lines(axes, ends)


def _look(study: Study, method: Method) -> dict:
    if method.kind == "zero_shot":
        return {"color": style.COLOURS["zero_shot"], "linestyle": (0, (2, 2)), "marker": "o"}
    return style.look(study, [method])[method]
