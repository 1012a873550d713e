"""What the boost adds to one batch: the cosines between its captions, as a map."""

import numpy
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.caption_sets import CaptionSet, read_sets, titles
from hnclip.report.cosines import NONE
from hnclip.report.load import Study

BATCH = 16
SEED = 0
COLOURS = "viridis"


def batch_cosines(found: CaptionSet, size: int = BATCH) -> numpy.ndarray:
    """Cosines of `size` captions of as many images, drawn at random [N, N]; the diagonal is NaN as it gets no boost.

    Fewer where the set has fewer images.
    """
    luck = numpy.random.default_rng(SEED)
    first = {name: row for row, name in reversed(list(enumerate(found.ids_N)))}  # one caption an image
    rows = numpy.array(sorted(first.values()))
    drawn_ND = found.text_ND[luck.permutation(rows)[:size]]
    cosine_NN = (drawn_ND @ drawn_ND.T).clip(-1, 1)
    numpy.fill_diagonal(cosine_NN, numpy.nan)
    return cosine_NN


def draw_heat_map(study: Study) -> Figure:
    """A panel a set of captions, all on one scale of colours; the mean of each is written above it."""
    names = titles(study)
    maps = {names[one.encoder, one.name]: batch_cosines(one) for one in read_sets(study) if one.images > 1}
    if not maps:
        return style.empty(NONE)
    columns = min(3, len(maps))
    figure, axes = style.panels(-(-len(maps) // columns), columns)
    panels = [panel for row in axes for panel in row]
    low = min(float(numpy.nanmin(cosine_NN)) for cosine_NN in maps.values())
    scale = Normalize(numpy.floor(20 * low) / 20, 1.0)
    for panel, (name, cosine_NN) in zip(panels, maps.items(), strict=False):
        _panel(panel, name, cosine_NN, scale)
    for panel in panels[len(maps) :]:
        panel.axis("off")
    bar = figure.colorbar(ScalarMappable(scale, COLOURS), ax=panels, fraction=0.046, pad=0.03)
    bar.set_label("cosine of two captions")
    bar.outline.set_visible(False)
    return figure


def _panel(axes: Axes, name: str, cosine_NN: numpy.ndarray, scale: Normalize) -> None:
    axes.imshow(cosine_NN, cmap=COLOURS, norm=scale, interpolation="none", extent=(0, 1, 0, 1), aspect="equal")
    axes.set(xticks=[], yticks=[], ylabel=f"{len(cosine_NN)} captions")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{name}: mean {numpy.nanmean(cosine_NN):.2f}", loc="left")
