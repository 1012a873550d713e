"""How alike captions are to their encoder: histograms of all pairs' and of hardest companions' cosines."""

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.caption_sets import read_sets, titles
from hnclip.report.geometry import BINS, Geometry, caption_geometry
from hnclip.report.load import Study

ALL, HARDEST = "#0072b2", "#d55e00"
NONE = "No caption cosines: the study lists no embeddings of its test splits."


def study_geometry(study: Study) -> dict[str, Geometry | None]:
    """The geometry of every set of captions by its title; None for a set of one image, which has no companions."""
    names = titles(study)
    return {
        names[found.encoder, found.name]: caption_geometry(found.ids_N, found.text_ND) if found.images > 1 else None
        for found in read_sets(study)
    }


def draw_caption_cosines(study: Study) -> Figure:
    """One panel a set of captions: shares of all pairs and of hardest companions by cosine, with their means."""
    found = study_geometry(study)
    if not found:
        return style.empty(NONE)
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure, axes = style.panels(rows, columns, right=0.0)
    panels = [panel for row in axes for panel in row]
    for panel, (name, geometry) in zip(panels, found.items(), strict=False):
        _panel(panel, name, geometry)
    for panel in panels[len(found) :]:
        panel.axis("off")
    counted = [geometry for geometry in found.values() if geometry]
    if counted:
        filled = numpy.flatnonzero(sum(geometry.pairs for geometry in counted))
        last = max(float(geometry.hardest_N.max()) for geometry in counted)
        panels[0].set_xlim(BINS[filled[0]] - 0.02, min(1.0, max(BINS[filled[-1] + 1], last)) + 0.02)
        panels[0].set_ylim(0, panels[0].get_ylim()[1] * 1.3)
    for row in axes:
        row[0].set_ylabel("share per 0.01 (%)")
    for panel in panels[len(found) - columns : len(found)]:
        panel.set_xlabel("cosine of two captions")
        panel.tick_params(labelbottom=True)
    return figure


def _panel(axes: Axes, name: str, geometry: Geometry | None) -> None:
    if geometry is None:
        words = f"{name} has one image:\nits captions have no companions"
        axes.text(0.5, 0.5, words, ha="center", va="center", color=style.GREY, transform=axes.transAxes)
        axes.set_title(name, loc="left")
        return
    hardest = numpy.histogram(geometry.hardest_N, BINS)[0]
    series = [
        ("all pairs", geometry.pairs, geometry.mean, ALL, 0.97),
        ("hardest companion", hardest, geometry.mean_hardest, HARDEST, 0.87),
    ]
    for words, histogram, mean, colour, height in series:
        share = 100 * histogram / histogram.sum()
        axes.stairs(share, BINS, fill=True, color=colour, alpha=0.25)
        axes.stairs(share, BINS, color=colour, linewidth=1)
        axes.axvline(mean, ymax=0.78, color=colour, linewidth=1, linestyle=(0, (3, 2)))
        axes.text(
            0.02, height, f"{words}: mean {mean:.2f}", color=colour, transform=axes.transAxes, va="top", fontsize=8
        )
    axes.set_title(f"{name} ({len(geometry.hardest_N)} captions)", loc="left")
