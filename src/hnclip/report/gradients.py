"""Gradients of the plain and of the boosted loss along audited trainings; a column a training, a row a quantity."""

import math
from collections.abc import Callable

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.audits import EXACT, NOTHING, Audited, range_words, read_audits
from hnclip.report.gradient_lines import ACTIVE, COSINE, ERROR, LOSSES, NORMS, VANISHED, Line, Row
from hnclip.report.load import Study
from hnclip.report.methods import setting_words

ALONE = "No comparison: all audited trainings share one training set and one share of it."
COLUMN, ROW = 2.1, 1.35  # a panel's width and height, inches
LEFT, RIGHT, TOP, BOTTOM, GAP = 0.75, 1.3, 0.5, 0.45, 0.25


def draw_gradients(study: Study) -> Figure:
    """Losses, norms, cosine, active batches, vanished gradients and error, for the trainings on the most data."""
    audits = read_audits(study)
    if not audits:
        return style.empty(NOTHING)
    first = audits[0]
    shown = [a for a in audits if (a.setting, a.cell.fraction) == (first.setting, first.cell.fraction)]
    rows = [LOSSES, NORMS, COSINE, ACTIVE, VANISHED, ERROR]
    where = f"{setting_words(study, first.setting)}, {first.cell.fraction} % of the data"
    return _draw(study, shown, rows, lambda audit: f"trained with\n{audit.method.label}", where)


def draw_gradients_by(study: Study) -> Figure:
    """Losses, norms, cosine and active batches by training set and share of it, for one loss trained with."""
    audits = read_audits(study)
    if not audits:
        return style.empty(NOTHING)
    kinds = [audit.method.loss for audit in audits if audit.method.kind == "boosted"]
    loss = kinds[0] if kinds else audits[0].method.loss
    shown = [audit for audit in audits if audit.method.loss == loss]
    if len({(audit.setting, audit.cell.fraction) for audit in shown}) < 2:
        return style.empty(ALONE)
    where = f"trained with {shown[0].method.label}"
    several = len({audit.cell.backbone for audit in shown}) > 1

    def words(audit: Audited) -> str:
        backbone = f", {audit.cell.backbone}" if several else ""
        return f"{audit.cell.framework}, {audit.cell.train}{backbone}\n{audit.cell.fraction} % of the data"

    return _draw(study, shown, [LOSSES, NORMS, COSINE, ACTIVE], words, where)


def _draw(study: Study, audits: list[Audited], rows: list[Row], title: Callable[[Audited], str], where: str) -> Figure:
    """Trainings with one title share a column, a line a seed."""
    columns: dict[str, list[Audited]] = {}
    for audit in audits:
        columns.setdefault(title(audit), []).append(audit)
    figure, axes = _panels(len(rows), len(columns))
    for r, row in enumerate(rows):
        found = [[row.lines(study, audit) for audit in column] for column in columns.values()]
        drawn = [line for column in found for lines in column for line in lines]
        least = min((y for line in drawn for y in line.y if y > 0), default=1.0)
        for panel, column in zip(axes[r], found, strict=True):
            for lines in column:
                _plot(panel, lines)
        _scale(axes[r], row.scale, least)
        axes[r][0].set_ylabel(row.words)
        _name(axes[r][-1], found[-1][0], row.scale)
    for panel, words in zip(axes[0], columns, strict=True):
        panel.set_title(words, loc="left")
    for panel in axes[-1]:
        panel.set_xlabel("epochs trained")
    _note(figure, axes, audits, where)
    return figure


def _panels(rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    width = LEFT + columns * COLUMN + (columns - 1) * GAP + RIGHT
    height = TOP + rows * ROW + (rows - 1) * GAP + BOTTOM
    figure, axes = pyplot.subplots(rows, columns, squeeze=False, sharex="col", sharey="row", figsize=(width, height))
    edges = {"left": LEFT / width, "right": 1 - RIGHT / width, "bottom": BOTTOM / height, "top": 1 - TOP / height}
    figure.subplots_adjust(**edges, wspace=GAP / COLUMN, hspace=GAP / ROW)
    return figure, axes.tolist()


def _plot(axes: Axes, lines: list[Line]) -> None:
    for line in lines:
        look = {"color": line.colour, "linestyle": line.dash, "marker": "." if line.dots else "", "markersize": 3}
        axes.plot(line.x, line.y, linewidth=1, clip_on=False, **look)


def _scale(panels: list[Axes], scale: str, least: float) -> None:
    """A log axis keeps a place for exact zeros, below its least decade."""
    if scale == "log":
        decade = 10.0 ** math.floor(math.log10(least))
        for panel in panels:
            panel.set_yscale("symlog", linthresh=decade, linscale=0.4)
        top = max(panel.get_ylim()[1] for panel in panels)
        highest = math.ceil(math.log10(max(top, 10 * decade)))
        lowest = round(math.log10(decade))
        step = max(1, -(-(highest - lowest) // 4))
        panels[0].set_yticks([0, *(10.0**power for power in range(lowest, highest + 1, step))])
        panels[0].minorticks_off()
        panels[0].set_ylim(0, 10.0**highest)
    elif scale == "percent":
        panels[0].set_ylim(-3, 103)
    elif scale == "cosine":
        panels[0].set_ylim(-1.05, 1.05)


def _name(axes: Axes, lines: list[Line], scale: str) -> None:
    """Each line's words beside its end; on a log axis in a small legend, since places there are no lengths."""
    ends = [(line.words, line.x[-1], line.y[-1], line.colour) for line in lines if line.x]
    if scale != "log":
        style.name_lines(axes, ends)
        return
    for nth, (words, _, _, colour) in enumerate(reversed(ends)):
        axes.text(1.08, 0.75 - 0.2 * nth, words, color=colour, fontsize=8, transform=axes.transAxes)


def _note(figure: Figure, axes: list[list[Axes]], audits: list[Audited], where: str) -> None:
    """Beneath the panels: what was trained on what, N, seeds, and whether the trainings were the runs themselves."""
    pairs = sorted({int(n) for audit in audits for n in audit.rows["pairs"].unique()})
    every = sorted({audit.record["audit"]["every"] for audit in audits})
    seeds = sorted({audit.cell.seed for audit in audits})
    counts = sorted({len(audit.of(EXACT)) for audit in audits})
    said = [
        f"{where}. Every {' or '.join(map(str, every))} steps, on the step's first batch ({range_words(pairs)} pairs): "
        f"{range_words(counts)} measurements a training.",
        f"Seeds {', '.join(map(str, seeds))}, a line each. A log axis has 0 at its foot: exactly zero.",
    ]
    if others := sum(not audit.same_weights for audit in audits):
        said.append(f"{others} of {len(audits)} trainings ended with other weights than their runs.")
    x = axes[0][0].get_position().x0
    figure.text(x, 0.0, "\n".join(said), ha="left", va="top", fontsize=8, color=style.GREY)
