"""How alike a benchmark's captions are to the frozen backbone: cosines of all pairs and of hardest companions."""

from dataclasses import dataclass
from pathlib import Path

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pyarrow import parquet

from hnclip.report import style
from hnclip.report.load import Study, test_targets

BINS = numpy.linspace(-1.0, 1.0, 201)
BLOCK = 1024
ALL, HARDEST = "#0072b2", "#d55e00"


@dataclass(frozen=True)
class Cosines:
    """Histograms over BINS and means of caption cosines; captions of one image are no pair."""

    all_pairs: numpy.ndarray
    hardest: numpy.ndarray
    mean: float
    mean_hardest: float
    captions: int


def read_text(path: Path) -> tuple[numpy.ndarray, numpy.ndarray]:
    """(ids [N], unit caption embeddings [N, D]) of an embeddings file."""
    table = parquet.read_table(path, columns=["id", "text"]).combine_chunks()
    text = table["text"].combine_chunks()
    values = text.flatten().to_numpy(zero_copy_only=False)
    return table["id"].to_numpy(), values.reshape(len(text), -1).astype(numpy.float32)


def caption_cosines(ids_N: numpy.ndarray, text_ND: numpy.ndarray) -> Cosines:
    """Cosines of every caption with every other image's captions, blockwise; at least two images are needed."""
    _, image_N = numpy.unique(ids_N, return_inverse=True)
    if image_N.max(initial=0) < 1:
        raise ValueError("caption cosines need the captions of at least two images")
    total, count, histogram, hardest = 0.0, 0, numpy.zeros(len(BINS) - 1), []
    for start in range(0, len(text_ND), BLOCK):
        cosine_BN = text_ND[start : start + BLOCK] @ text_ND.T
        other_BN = image_N[start : start + BLOCK, None] != image_N[None, :]
        values = cosine_BN[other_BN].clip(-1, 1)
        total, count = total + float(values.sum(dtype=numpy.float64)), count + len(values)
        histogram += numpy.histogram(values, BINS)[0]
        hardest.append(numpy.where(other_BN, cosine_BN, -2.0).max(1).clip(-1, 1))
    hardest_N = numpy.concatenate(hardest)
    companions = numpy.histogram(hardest_N, BINS)[0]
    return Cosines(histogram, companions, total / count, float(hardest_N.mean(dtype=numpy.float64)), len(text_ND))


def study_cosines(study: Study) -> dict[str, Cosines | None]:
    """The cosines of every test split, named `BACKBONE on BENCHMARK/SPLIT` where there are several backbones.

    None for a split of one image, whose captions have no companions.
    """
    several = len({entry["backbone"] for entry in study.embeddings}) > 1
    targets = test_targets(study)
    order = sorted(
        (entry for entry in study.embeddings if f"{entry['benchmark']}/{entry['split']}" in targets),
        key=lambda entry: (entry["backbone"], targets.index(f"{entry['benchmark']}/{entry['split']}")),
    )
    found = {}
    for entry in order:
        target = f"{entry['benchmark']}/{entry['split']}"
        name = f"{entry['backbone']} on {target}" if several else target
        ids_N, text_ND = read_text(entry["path"])
        found[name] = caption_cosines(ids_N, text_ND) if len(set(ids_N)) > 1 else None
    return found


def draw_caption_cosines(study: Study) -> Figure:
    """One panel a test split: shares of all pairs and of hardest companions by cosine, with their means."""
    found = study_cosines(study)
    if not found:
        return style.empty("No caption cosines: the study lists no embeddings of its test splits.")
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure, axes = style.panels(rows, columns, right=0.0)
    panels = [panel for row in axes for panel in row]
    for panel, (name, cosines) in zip(panels, found.items(), strict=False):
        _panel(panel, name, cosines)
    for panel in panels[len(found) :]:
        panel.axis("off")
    counted = [cosines for cosines in found.values() if cosines]
    if counted:
        filled = numpy.flatnonzero(sum(cosines.all_pairs + cosines.hardest for cosines in counted))
        panels[0].set_xlim(BINS[filled[0]] - 0.02, min(1.0, BINS[filled[-1] + 1]) + 0.02)
        panels[0].set_ylim(0, panels[0].get_ylim()[1] * 1.3)
    for row in axes:
        row[0].set_ylabel("share per 0.01 (%)")
    for panel in panels[len(found) - columns : len(found)]:
        panel.set_xlabel("cosine of two captions")
        panel.tick_params(labelbottom=True)
    return figure


def _panel(axes: Axes, name: str, cosines: Cosines | None) -> None:
    if cosines is None:
        words = f"{name} has one image:\nits captions have no companions"
        axes.text(0.5, 0.5, words, ha="center", va="center", color=style.GREY, transform=axes.transAxes)
        axes.set_title(name, loc="left")
        return
    series = [
        ("all pairs", cosines.all_pairs, cosines.mean, ALL, 0.97),
        ("hardest companion", cosines.hardest, cosines.mean_hardest, HARDEST, 0.87),
    ]
    for words, histogram, mean, colour, height in series:
        share = 100 * histogram / histogram.sum()
        axes.stairs(share, BINS, fill=True, color=colour, alpha=0.25)
        axes.stairs(share, BINS, color=colour, linewidth=1)
        axes.axvline(mean, ymax=0.78, color=colour, linewidth=1, linestyle=(0, (3, 2)))
        axes.text(
            0.02, height, f"{words}: mean {mean:.2f}", color=colour, transform=axes.transAxes, va="top", fontsize=8
        )
    axes.set_title(f"{name} ({cosines.captions} captions)", loc="left")
