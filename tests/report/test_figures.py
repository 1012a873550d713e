"""Figures exist, repeat byte for byte, say when there is nothing to see, and draw the right numbers."""

import dataclasses
import hashlib

import numpy
import pandas
import pytest
from matplotlib import pyplot
from PIL import Image

from hnclip import store
from hnclip.report.cosines import draw_caption_cosines
from hnclip.report.curves import draw_epochs, draw_fractions
from hnclip.report.figures import FIGURES, write_figures
from hnclip.report.layout import lay_out
from hnclip.report.methods import KINDS, Setting
from hnclip.report.style import COLOURS, OTHER, spread


def digests(folder) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def lean(study):
    """One framework and one test split, since drawing takes its time."""
    here = study.ranks["framework"].isin(["longclip", "zero_shot"])
    ranks = study.ranks[here & (study.ranks["target"] == "scenes/test")]
    return dataclasses.replace(study, ranks=ranks)


@pytest.fixture(scope="module")
def written(lean, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    write_figures(lean, folder)
    return folder


def test_every_figure_is_there_as_page_pdf_and_png(written):
    assert set(digests(written)) == {f"{name}.{ending}" for name in FIGURES for ending in ("html", "pdf", "png")}
    for name in FIGURES:
        pixels = numpy.asarray(Image.open(written / f"{name}.png").convert("L"))
        assert pixels.shape[1] > 600 and (pixels < 128).mean() > 0.002
        assert (written / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert b"CreationDate" not in (written / f"{name}.pdf").read_bytes()


@pytest.mark.slow
def test_the_same_study_gives_the_same_bytes(lean, written, tmp_path):
    write_figures(lean, tmp_path)
    assert digests(tmp_path) == digests(written)


@pytest.mark.slow
def test_a_study_without_data_says_so(study, tmp_path):
    bare = dataclasses.replace(study, ranks=study.ranks[:0], epochs=study.epochs[:0], record={})
    write_figures(bare, tmp_path)
    assert len(digests(tmp_path)) == 3 * len(FIGURES)
    for draw in FIGURES.values():
        (words,) = draw(bare).axes[0].texts
        assert words.get_text().startswith("No ")


def test_epochs_begin_at_zero_shot_and_end_at_the_last_epoch(study):
    panel = draw_epochs(study).axes[0]
    thick = [line for line in panel.lines if line.get_linewidth() > 1]
    assert len(thick) == 6 and all(list(line.get_xdata()) == [0, 1, 2, 3, 4] for line in thick)
    zero_shot = study.ranks[(study.ranks["framework"] == "zero_shot") & (study.ranks["target"] == "scenes/test")]
    assert thick[0].get_ydata()[0] == pytest.approx(100 * (zero_shot["rank"] < 1).mean())
    plain = study.epochs[(study.epochs["loss"] == "infonce") & (study.epochs["framework"] == "longclip")]
    plain = plain[(plain["fraction"] == 100) & (plain["epoch"] == 3) & (plain["target"] == "scenes/test")]
    assert thick[0].get_ydata()[-1] == pytest.approx(50 * (plain["t2i_r1"] + plain["i2t_r1"]).mean())


def test_every_line_is_named_beside_it(study):
    names = [text.get_text() for text in draw_fractions(study).axes[0].texts]
    assert names == ["plain", "boosted, γ = 0.5", "zero-shot"]


@pytest.fixture
def wrapped(monkeypatch):
    monkeypatch.setattr("hnclip.report.layout.MANY", 1)
    monkeypatch.setattr("hnclip.report.layout.COLUMNS", 2)


def test_few_settings_have_a_row_each():
    settings = [Setting("tiny", "scenes", name) for name in "ab"]
    found = lay_out(settings, ["x/test", "y/test"])
    places = {(s.framework, t): panel.get_subplotspec() for panel, s, t in found}
    at = {key: (place.rowspan.start, place.colspan.start) for key, place in places.items()}
    assert at == {("a", "x/test"): (0, 0), ("a", "y/test"): (0, 1), ("b", "x/test"): (1, 0), ("b", "y/test"): (1, 1)}
    assert not found.wrapped
    pyplot.close(found.figure)


def test_many_settings_are_wrapped_a_block_a_test_split():
    settings = [Setting("tiny", "scenes", name) for name in "abcdefg"]
    found = lay_out(settings, ["x/test", "y/test"])
    at = {(s.framework, t): panel.get_subplotspec() for panel, s, t in found}
    at = {key: (place.rowspan.start, place.colspan.start) for key, place in at.items()}
    assert found.wrapped and len(set(at.values())) == 14
    assert at["d", "x/test"] == (0, 3) and at["e", "x/test"] == (1, 0) and at["g", "y/test"] == (3, 2)
    assert len(found.figure.axes) == 16 and sum(not panel.axison for panel in found.figure.axes) == 2
    assert sorted(found.edges.values()) == ["x/test"] * 2 + ["y/test"] * 2
    pyplot.close(found.figure)


@pytest.mark.parametrize("draw", [draw_epochs, draw_fractions])
def test_wrapped_panels_share_one_legend(lean, wrapped, draw):
    given, epochs = (frame[frame["loss"] != "infonce-tuned"] for frame in (lean.ranks, lean.epochs))
    other = given[given["framework"] == "longclip"].assign(framework="hnclip")
    epochs = epochs[epochs["framework"] == "longclip"]
    epochs = pandas.concat([epochs, epochs.assign(framework="hnclip")])
    ranks = pandas.concat([given[given["framework"] != "finelip"], other])
    figure = draw(dataclasses.replace(lean, ranks=ranks, epochs=epochs))
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert len(set(words)) == len(words) and {"plain", "boosted, γ = 0.5"} <= set(words)
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "longclip on scenes/test",
        "hnclip on scenes/test",
    ]
    assert figure.axes[0].get_ylabel().startswith("scenes/test (N = 64 each way)\n") and not figure.axes[1].get_ylabel()
    assert all(panel.get_xlabel() and not panel.texts for panel in figure.axes)
    pyplot.close(figure)


def test_the_kinds_that_verdicts_rest_on_have_a_colour_each():
    own = ("zero_shot", "plain", "scale", "boosted", "margin", "centred", "frozen")
    assert set(own) <= set(COLOURS) <= set(KINDS) and len({COLOURS[kind] for kind in own} | {OTHER}) == len(own) + 1


def test_names_are_moved_apart_and_keep_their_order():
    heights = [10.0, 10.1, 3.0, 10.2, 19.9]
    placed = spread(heights, 1.0, 0.0, 20.0)
    order = numpy.argsort(heights)
    gaps = numpy.diff(numpy.array(placed)[order])
    assert (gaps >= 1.0 - 1e-9).all() and placed[2] == 3.0 and placed[1] == pytest.approx(10.1)
    assert spread([0.0, 0.0], 1.0, 0.0, 20.0) == [0.0, 1.0]
    crowded = sorted(spread([5.0, 5.1, 5.2, 3.0, 0.1], 1.5, 0.0, 6.5))
    assert (numpy.diff(crowded) > 1.5 - 1e-9).all() and 0 <= crowded[0] and crowded[-1] <= 6.5


def test_the_axis_of_epochs_spans_ten_points(study):
    for level in (0.004, 0.03, 0.5, 0.998):  # noise of nothing at the edges of the scale and within it
        flat = study.epochs.assign(t2i_r1=level, i2t_r1=level)
        ranks = study.ranks[study.ranks["framework"] != "zero_shot"]
        low, high = draw_epochs(dataclasses.replace(study, epochs=flat, ranks=ranks)).axes[0].get_ylim()
        assert 9.999 < high - low < 12 and -0.5 <= low < 100 * level < high <= 100.5


@pytest.mark.slow
def test_a_test_split_of_one_image_is_drawn_and_said(lone_study, tmp_path):
    panels = draw_caption_cosines(lone_study).axes
    assert [panel.texts[0].get_text() for panel in panels] == [
        f"scenes/{split} has one image:\nits captions have no companions" for split in ("test", "unseen")
    ]
    write_figures(lone_study, tmp_path / "figures")
    assert len(digests(tmp_path / "figures")) == 3 * len(FIGURES)


def test_a_split_of_one_image_beside_a_larger_one(study, tmp_path):
    lone = tmp_path / "lone.parquet"
    store.write_rows(lone, [{"id": "a", "image": [1.0, 0.0], "text": [1.0, 0.0]}] * 2)
    embeddings = [study.embeddings[0] | {"path": str(lone)}, study.embeddings[1]]
    other = dataclasses.replace(study, record=study.record | {"embeddings": embeddings})
    first, second = draw_caption_cosines(other).axes
    assert first.texts[0].get_text().startswith("scenes/test has one image")
    assert second.get_title(loc="left") == "scenes/unseen (128 captions)" and second.get_ylim()[1] > 1
