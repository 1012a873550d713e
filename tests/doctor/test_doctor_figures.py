"""The pictures of a diagnosis, drawn without a model."""

import numpy
import pytest
from doctor_world import alike
from matplotlib.figure import Figure

from hnclip.doctor import figures


@pytest.mark.parametrize("draw", [figures.cosines, figures.buckets])
@pytest.mark.parametrize(("own", "full"), [(0.0, True), (1.0, False)])
def test_an_axis_of_shares_ends_at_all(draw, own, full):
    """Of captions that are all one, one bar has all; it must not seem that there could be more."""
    axes = Figure().subplots()
    draw(axes, alike(own=own))
    heights = [patch.get_height() for patch in axes.patches if hasattr(patch, "get_height")]
    heights += [patch.get_data().values.max() for patch in axes.patches if hasattr(patch, "get_data")]
    top = axes.get_ylim()[1]
    assert numpy.max(heights) <= top <= 1
    assert (top == 1) == full
