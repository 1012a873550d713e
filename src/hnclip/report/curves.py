"""R@1 by share of the training data and by epoch; a panel a setting and test split, a line a loss."""

import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from hnclip.report import estimates, style
from hnclip.report.estimates import MEAN
from hnclip.report.layout import Ends, finish, lay_out
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method, Setting, methods, settings, zero_shot

Y_LABEL = "R@1, mean of both\ndirections (%)"
LEAST_RANGE = 10.0  # points of percent that the axis of R@1 by epoch spans at least


def _zero_shot_score(study: Study, backbone: str, target: str) -> float | None:
    hits = estimates.hits_of(study, zero_shot(study, backbone), target, MEAN, 1)
    return None if hits is None else 100 * hits.score()


def draw_fractions(study: Study) -> Figure:
    """R@1 by share of the training data with its interval, one line a loss; zero-shot as a level."""
    found = {setting: lines for setting in settings(study) if (lines := estimates.fractions(study, setting))}
    targets = test_targets(study)
    if not found or not targets:
        return style.empty("No data fractions: the study trains no cell on more than one share of its data.")
    layout = lay_out(list(found), targets)
    for panel, setting, target in layout:
        _fraction_panel(study, panel, setting, target, found[setting])
    ends = {
        panel: _fraction_ends(study, setting, target, found[setting], panel.get_xlim()[1])
        for panel, setting, target in layout
    }
    finish(study, layout, ends, "share of the training pairs (%, log scale)", Y_LABEL)
    return layout.figure


def _fraction_panel(study: Study, axes: Axes, setting: Setting, target: str, lines: dict) -> None:
    looks = style.look(study, list(lines))
    shift = numpy.geomspace(0.97, 1.03, len(lines)) if len(lines) > 1 else [1.0]  # intervals beside each other
    for (method, shares), factor in zip(lines.items(), shift, strict=True):
        scored = [(share, estimates.estimate(study, method, target, MEAN, fraction=share)) for share in shares]
        scored = [(share, score) for share, score in scored if score]
        x = [share * factor for share, _ in scored]
        y = [score["score"] for _, score in scored]
        below_above = [
            [numpy.nan_to_num(score["score"] - score["low"]) for _, score in scored],
            [numpy.nan_to_num(score["high"] - score["score"]) for _, score in scored],
        ]
        look = {**looks[method], "label": method.label}
        axes.errorbar(x, y, below_above, capsize=2, elinewidth=1, linewidth=1.5, markersize=4, **look)
    axes.set_xscale("log")
    shares = sorted({share for values in lines.values() for share in values})
    axes.xaxis.set_major_locator(FixedLocator(shares))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([str(share) for share in shares])
    level = _zero_shot_score(study, setting.backbone, target)
    if level is not None:
        look = {"color": style.COLOURS["zero_shot"], "linestyle": (0, (2, 2))}
        axes.axhline(level, linewidth=1, label="zero-shot", **look)


def _fraction_ends(study: Study, setting: Setting, target: str, lines: dict, edge: float) -> Ends:
    ends = []
    for method, shares in lines.items():
        score = estimates.estimate(study, method, target, MEAN, fraction=shares[-1])
        if score:
            ends.append((method.label, shares[-1], score["score"], style.colour(method)))
    level = _zero_shot_score(study, setting.backbone, target)
    return ends + ([("zero-shot", edge, level, style.COLOURS["zero_shot"])] if level is not None else [])


def draw_epochs(study: Study) -> Figure:
    """R@1 after each epoch: seeds as thin lines, their mean as a thick one; epoch 0 is zero-shot."""
    targets = [target for target in test_targets(study) if target in set(study.epochs["target"])]
    found = {
        setting: lines
        for setting in settings(study)
        if (lines := [m for m in methods(study, setting) if len(m.epochs(study))])
    }
    if not found or not targets:
        return style.empty("No epochs: no cell on the whole training data evaluated a test split while it trained.")
    layout = lay_out(list(found), targets)
    ends = {panel: _epoch_panel(study, panel, setting, target, found[setting]) for panel, setting, target in layout}
    _widen(next(iter(ends)))
    finish(study, layout, ends, "epochs trained (0: zero-shot)", Y_LABEL)
    return layout.figure


def _epoch_panel(study: Study, axes: Axes, setting: Setting, target: str, lines: list[Method]) -> Ends:
    start = _zero_shot_score(study, setting.backbone, target)
    ends = []
    for method, look in style.look(study, lines).items():
        score_ES = _by_epoch(method.epochs(study), target)
        if score_ES.empty:
            continue
        if start is not None:
            score_ES = pandas.concat([pandas.DataFrame(start, index=[0], columns=score_ES.columns), score_ES])
        line = {key: look[key] for key in ("color", "linestyle")}
        if score_ES.shape[1] > 1:
            axes.plot(score_ES.index, score_ES.to_numpy(), linewidth=0.5, alpha=0.6, color=look["color"])
        mean_E = score_ES.mean(axis=1)
        axes.plot(mean_E.index, mean_E, linewidth=1.8, label=method.label, **line)
        ends.append((method.label, mean_E.index[-1], float(mean_E.iloc[-1]), look["color"]))
    if not ends:
        axes.text(0.5, 0.5, "not evaluated each epoch", ha="center", color=style.GREY, transform=axes.transAxes)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.margins(x=0.0)
    return ends


def _by_epoch(epochs: pandas.DataFrame, target: str) -> pandas.DataFrame:
    """R@1 in percent, mean of both directions: a row an epoch (1 after the first), a column a seed."""
    rows = epochs[epochs["target"] == target]
    score = 50 * (rows["t2i_r1"] + rows["i2t_r1"])
    return rows.assign(score=score, done=rows["epoch"] + 1).pivot(index="done", columns="seed", values="score")


def _widen(axes: Axes) -> None:
    """Let the y axis span LEAST_RANGE points at least, within 0 to 100 and a hair, so that noise looks like noise."""
    low, high = axes.get_ylim()
    low, high = max(low, -0.5), min(high, 100.5)
    if high - low < LEAST_RANGE:
        low = min(max((low + high - LEAST_RANGE) / 2, -0.5), 100.5 - LEAST_RANGE)
        high = low + LEAST_RANGE
    axes.set_ylim(low, high)
