"""How alike each benchmark's captions are, at a glance: mean and hardest cosine, and captions by hardness."""

import numpy
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.cosines import ALL, HARDEST, NONE, study_geometry
from hnclip.report.geometry import Geometry
from hnclip.report.load import Study

BUCKETS = ("< 0.8", "0.8–0.9", "0.9–0.95", "≥ 0.95")
SHADES = ("#fdd9b5", "#f7a35c", "#d55e00", "#7a3300")  # one hue, darker where captions are harder to tell apart
INK = ("#1a1a1a", "#1a1a1a", "#ffffff", "#ffffff")
ROW, HEAD, FOOT = 0.45, 0.5, 0.5  # inches: a set's row, above the first, below the last
NARROW = 7.0  # shares below it (percent) are not written into their bar


def draw_geometry(study: Study) -> Figure:
    """A row a set of captions: mean cosine of all pairs and of hardest companions, and the buckets of hardness."""
    found = {name: geometry for name, geometry in study_geometry(study).items() if geometry}
    if not found:
        return style.empty(NONE)
    height = HEAD + FOOT + ROW * len(found)
    left = 0.35 + 0.075 * max(map(len, found))
    figure, (cosines, buckets) = pyplot.subplots(1, 2, sharey=True, figsize=(left + 5.6, height))
    figure.subplots_adjust(
        left=left / (left + 5.6), right=0.99, top=1 - HEAD / height, bottom=FOOT / height, wspace=0.1
    )
    for place, geometry in enumerate(found.values()):
        _cosines(cosines, place, geometry, named=place == 0)
        _buckets(buckets, place, geometry, named=place == 0)
    cosines.set_ylim(len(found) - 0.5, -0.6)
    cosines.set_yticks(range(len(found)), [f"{name}\n{len(one.hardest_N)} captions" for name, one in found.items()])
    low = min(geometry.mean for geometry in found.values())
    cosines.set_xlim(max(-1.0, numpy.floor(10 * low - 0.5) / 10), 1.02)
    cosines.set_xlabel("cosine of two captions")
    buckets.set_xlim(0, 100)
    buckets.set_xlabel("captions by hardest companion (%)")
    for panel in (cosines, buckets):
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="y", visible=False)
    cosines.grid(axis="x", visible=True)
    return figure


def _cosines(axes: Axes, place: int, geometry: Geometry, named: bool) -> None:
    """Both means, and the line on which the hardest companions of the middle nine captions in ten lie."""
    ends = numpy.quantile(geometry.hardest_N, [0.05, 0.95])
    axes.plot(ends, [place] * 2, color=HARDEST, linewidth=4, alpha=0.35, solid_capstyle="butt")
    points = [("all\npairs", geometry.mean, ALL, "o"), ("hardest\ncompanion", geometry.mean_hardest, HARDEST, "s")]
    for words, mean, colour, marker in points:
        axes.plot(mean, place, marker, color=colour, markersize=6)
        text = f"{words}\n{mean:.2f}" if named else f"{mean:.2f}"
        axes.annotate(
            text, (mean, place), (0, 6), textcoords="offset points", ha="center", va="bottom", color=colour, fontsize=8
        )


def _buckets(axes: Axes, place: int, geometry: Geometry, named: bool) -> None:
    start = 0.0
    for share, shade, ink in zip(100 * geometry.buckets, SHADES, INK, strict=True):
        axes.barh(place, share, left=start, height=0.55, color=shade, edgecolor="white", linewidth=0.6)
        if share >= NARROW:
            axes.text(start + share / 2, place, f"{share:.0f}", ha="center", va="center", color=ink, fontsize=8)
        start += share
    if named:
        key = axes.get_xaxis_transform()
        for column, (words, shade) in enumerate(zip(BUCKETS, SHADES, strict=True)):
            axes.annotate(
                words, (25 * column, 1), (10, 6), xycoords=key, textcoords="offset points", va="center", fontsize=7.5
            )
            axes.annotate(
                "■", (25 * column, 1), (0, 6), xycoords=key, textcoords="offset points", va="center", color=shade
            )
