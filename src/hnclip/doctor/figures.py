"""The diagnosis drawn: lengths, caption cosines, and solved batches, each as a picture that a page holds itself."""

import io
from collections.abc import Callable

import numpy
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.doctor.alike import Alike
from hnclip.doctor.lengths import CLIP, LONG, Lengths
from hnclip.doctor.start import Start
from hnclip.report import style
from hnclip.report.cosines import ALL, HARDEST
from hnclip.report.geometry import BINS
from hnclip.report.page import data_uri, escape

SIZE = (4.6, 2.5)  # inches
RC = {**style.RC, "svg.hashsalt": "hnclip", "font.size": 9.5}


def picture(draw: Callable[[Axes], None], words: str) -> str:
    """What `draw` puts on a pair of axes, as an image for a page; `words` say what it shows."""
    with pyplot.rc_context(RC):
        figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
        draw(axes)
        source = data_uri(_svg(figure), "image/svg+xml")
        pyplot.close(figure)
    return f'<img class="figure" src="{source}" alt="{escape(words)}">'


def _svg(figure: Figure) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def lengths(axes: Axes, found: Lengths) -> None:
    """How many captions have how many tokens; the contexts at which they would be cut."""
    top = max(int(numpy.percentile(found.tokens_M, 99.5) * 1.08), 20)
    shown_M = numpy.minimum(found.tokens_M, top)
    step = max(1, top // 50)
    axes.hist(shown_M, bins=numpy.arange(0, top + step + 1, step), color=ALL, alpha=0.55)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.16)
    for context in sorted({CLIP, LONG, found.context}):
        if context > top * 1.6:
            continue
        own = context == found.context
        axes.axvline(
            context, color=HARDEST if own else style.GREY, linewidth=1.3, linestyle="-" if own else (0, (3, 2))
        )
        words = f" {context} (this model)" if own else f" {context}"
        right = context > 0.7 * max(top, context)
        axes.text(
            context,
            0.98,
            f"{words.strip()} " if right else words,
            ha="right" if right else "left",
            va="top",
            color=HARDEST if own else style.GREY,
            transform=axes.get_xaxis_transform(),
            fontsize=8.5,
        )
    axes.set_xlabel("tokens of a caption")
    axes.set_ylabel("captions")


def cosines(axes: Axes, found: Alike) -> None:
    """Shares of all pairs and of hardest companions by cosine, with their means."""
    geometry = found.geometry
    hardest = numpy.histogram(geometry.hardest_N, BINS)[0]
    series = [
        ("all pairs", geometry.pairs, geometry.mean, ALL, 1.12),
        ("hardest companion", hardest, geometry.mean_hardest, HARDEST, 1.02),
    ]
    for words, counts, mean, colour, height in series:
        share = counts / counts.sum()
        axes.stairs(share, BINS, fill=True, color=colour, alpha=0.25)
        axes.stairs(share, BINS, color=colour, linewidth=1)
        axes.axvline(mean, color=colour, linewidth=1, linestyle=(0, (3, 2)))
        axes.text(0.02, height, f"{words}: mean {mean:.2f}", color=colour, transform=axes.transAxes, va="bottom")
    filled = BINS[:-1][(geometry.pairs > geometry.pairs.sum() * 5e-4) | (hardest > 0)]
    axes.set_xlim(max(-1, filled.min() - 0.04), min(1.01, filled.max() + 0.05))
    axes.set_ylim(0, min(1, axes.get_ylim()[1]))
    axes.yaxis.set_major_formatter(_percent)
    axes.set_xlabel("cosine of two captions")
    axes.set_ylabel("share per 0.01")


def _percent(share: float, place: int) -> str:
    """A tick of an axis of shares, with as many digits as tell it from its neighbours."""
    return f"{100 * share:.3g}%"


def buckets(axes: Axes, found: Alike) -> None:
    """How many captions have their hardest companion how near."""
    names, counts = zip(*found.buckets, strict=True)
    share = numpy.array(counts) / sum(counts)
    bars = axes.bar(range(len(names)), share, color=HARDEST, alpha=0.6, width=0.72)
    axes.bar_label(bars, [f"{count:,}" if count else "" for count in counts], fontsize=8.5, padding=2)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(0, min(1, max(share) * 1.15))
    axes.yaxis.set_major_formatter(_percent)
    axes.set_xlabel("cosine with the hardest companion")
    axes.set_ylabel("captions")


def solved(axes: Axes, found: Start) -> None:
    """Share of random batches that plain InfoNCE counts as solved, by their size, at several scales."""
    for (scale, points), dash, marker in zip(found.by_scale.items(), style.DASHES, "osD^", strict=False):
        own = points is found.own
        axes.plot(
            range(len(points)),
            [point.solved for point in points],
            color=style.COLOURS["plain" if own else "scale"],
            linestyle=dash,
            marker=marker,
            markersize=4,
            label=f"s = {scale:.0f}" + " (its own)" * own,
            clip_on=False,
        )
    axes.set_xticks(range(len(found.own)), [str(point.batch) for point in found.own])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(_percent)
    axes.set_xlabel("pairs in a batch")
    axes.set_ylabel("batches solved")
    axes.legend(frameon=False, fontsize=8.5)
