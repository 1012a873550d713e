"""R@1 by the strength γ of the boost and of its controls; a panel a setting and test split, a line a kind and scale."""

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import estimates, style
from hnclip.report.estimates import MEAN
from hnclip.report.layout import Ends, finish, lay_out
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import WORDS, Setting, settings
from hnclip.report.strength import SIGNED, Sweep, scale_of, sweeps

SWEPT = (SIGNED, ("margin",), ("centred",), ("shuffled",), ("frozen",), ("images",))  # kinds that one line goes through
WIDTH = 0.012  # of the axis, between lines that would hide each other's intervals


def draw_gamma(study: Study) -> Figure:
    """Means over seeds with their intervals; γ = 0 is the plain loss that every line has."""
    found = {setting: lines for setting in settings(study) if (lines := _lines(study, setting))}
    targets = test_targets(study)
    if not found or not targets:
        return style.empty("No sweep: the study trains no loss with two strengths γ at one scale.")
    layout = lay_out(list(found), targets)
    ends = {panel: _panel(study, panel, target, found[setting]) for panel, setting, target in layout}
    finish(study, layout, ends, "strength γ (0: plain)", "R@1, mean of both\ndirections (%)")
    return layout.figure


def _lines(study: Study, setting: Setting) -> list[tuple[str, str, Sweep]]:
    """(kind, words, sweep) of every line."""
    lines = []
    for kinds in SWEPT:
        for sweep in sweeps(study, setting, kinds):
            scale = scale_of(study, sweep[0][1])
            words = WORDS[kinds[-1]] if scale is None else f"{WORDS[kinds[-1]]}, s = {scale:g}"
            lines.append((kinds[-1], words, sweep))
    return lines


def _panel(study: Study, axes: Axes, target: str, lines: list[tuple[str, str, Sweep]]) -> Ends:
    ends: Ends = []
    reach = [gamma for _, _, sweep in lines for gamma, _ in sweep]
    gap = WIDTH * (max(reach) - min(reach))
    shifts = gap * (numpy.arange(len(lines)) - (len(lines) - 1) / 2)
    drawn: dict[str, int] = {}
    for (kind, words, sweep), shift in zip(lines, shifts, strict=True):
        dash = style.DASHES[drawn.get(kind, 0) % len(style.DASHES)]
        drawn[kind] = drawn.get(kind, 0) + 1
        scored = [(gamma, estimates.estimate(study, method, target, MEAN)) for gamma, method in sweep]
        scored = [(gamma, score) for gamma, score in scored if score]
        if not scored:
            continue
        colour = style.COLOURS.get(kind, style.OTHER)
        x = [gamma + shift for gamma, _ in scored]
        y = [score["score"] for _, score in scored]
        below = [numpy.nan_to_num(score["score"] - score["low"]) for _, score in scored]
        above = [numpy.nan_to_num(score["high"] - score["score"]) for _, score in scored]
        look = {"color": colour, "linestyle": dash, "marker": style.MARKERS.get(kind, "o"), "label": words}
        axes.errorbar(x, y, [below, above], capsize=2, elinewidth=1, linewidth=1.5, markersize=4, **look)
        ends.append((words, x[-1], y[-1], colour))
    axes.set_xticks(sorted(set(reach)), [f"{gamma:g}".replace("-", "−") for gamma in sorted(set(reach))])
    return ends
