"""The figures of controls and of strength: what is drawn, beside what, and what is said where there is nothing."""

import dataclasses

import matplotlib
import pytest
from matplotlib import pyplot
from sweep_world import swept_study

from hnclip.report import estimates, style
from hnclip.report.beside_plain import plain_pairs
from hnclip.report.controls import draw_controls
from hnclip.report.gamma_figure import draw_gamma
from hnclip.report.load import Study
from hnclip.report.methods import Setting


@pytest.fixture(scope="module")
def swept() -> Study:
    return swept_study()


@pytest.fixture(autouse=True)
def look():
    with matplotlib.rc_context(style.RC):
        yield
    pyplot.close("all")


def words(figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


def test_every_loss_has_a_row_in_the_panel_of_its_standing(swept):
    figure = draw_controls(swept)
    panels = figure.axes
    assert [panel.get_title(loc="left") for panel in panels] == [
        f"{standing}, {target}"
        for standing in ("as given", "tuned on validation")
        for target in ("scenes/test", "scenes/unseen", "stamps/test")
    ]
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert "longclip: boosted, γ = 0.5" in labels and "hnclip: matched margin, γ = 0.5" in labels
    assert [label.get_text() for label in panels[3].get_yticklabels()] == [
        "longclip: boosted, tuned (γ = 0.25)",
        "hnclip: boosted, tuned (γ = 0.25)",
    ]


def test_points_and_bars_are_the_paired_differences(swept):
    panel = draw_controls(swept).axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    row = labels.index("longclip: boosted, γ = 1")
    pair = next((a, b) for a, b in plain_pairs(swept, Setting("tiny", "scenes", "longclip")) if a.loss == "hn-100")
    found = estimates.paired(swept, *pair, "scenes/test")
    drawn = [line for line in panel.lines if list(line.get_ydata())[0] == row]
    assert list(drawn[0].get_xdata()) == pytest.approx([found["low"], found["high"]])
    assert list(drawn[1].get_xdata()) == pytest.approx([found["score"]])
    assert drawn[1].get_markerfacecolor() == style.COLOURS["boosted"]
    lone = [line for line in panel.lines if list(line.get_ydata())[0] == labels.index("hnclip: boosted, γ = 1")]
    assert lone[1].get_markerfacecolor() == "white"


def test_n_and_seeds_stand_beneath(swept):
    said = words(draw_controls(swept))
    assert "scenes/test: N = 24 each way; " in said and "Seeds a row: 1 to 3" in said and "95% intervals" in said


def test_strengths_are_drawn_by_kind_with_their_names(swept):
    figure = draw_gamma(swept)
    said = words(figure)
    assert "boosted" in said and "matched margin" in said and "N = 24 each way" in said
    panel = figure.axes[0]
    assert list(panel.get_xticks()) == [-0.5, 0.0, 0.25, 0.5, 1.0]
    colours = {container.lines[0].get_color() for container in panel.containers}
    assert colours == {style.COLOURS["boosted"], style.COLOURS["margin"]}


@pytest.mark.parametrize("draw", [draw_controls, draw_gamma])
def test_without_data_a_figure_says_so(swept, draw):
    lone = dataclasses.replace(swept, ranks=swept.ranks[swept.ranks["loss"] == "infonce"])
    assert words(draw(lone)).strip().startswith("No ")
