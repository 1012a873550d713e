"""Caption geometry equals its definition, and its table, figures and gallery say what the captions are."""

import dataclasses
import re

import numpy
import pandas
import pytest
from matplotlib import pyplot
from PIL import Image

from hnclip import store
from hnclip.report import geometry as module
from hnclip.report.caption_sets import read_sets, read_text, titles
from hnclip.report.cosines import draw_caption_cosines
from hnclip.report.geometry import BINS, caption_geometry, duplicates
from hnclip.report.geometry_figure import draw_geometry
from hnclip.report.geometry_table import geometry_table
from hnclip.report.heat_map import batch_cosines, draw_heat_map
from hnclip.report.near_twins import near_twins
from hnclip.report.twins import closest, content_words, groups, pieces, shared_words, typical
from hnclip.report.twins_figure import draw_near_twins, layers
from hnclip.report.writer import latex, markdown

CAPTIONS = ["A red <b>star</b> & a dot.", "A red star, a cross.", "The red star; $x$ rings.", "One red star shines."]


def unit(rows_ND: numpy.ndarray) -> numpy.ndarray:
    return (rows_ND / numpy.linalg.norm(rows_ND, axis=1, keepdims=True)).astype("float32")


def made_rows(images: int, width: int = 8) -> numpy.ndarray:
    """Unit rows of families of four near-twins."""
    luck = numpy.random.default_rng(3)
    families = numpy.repeat(luck.normal(size=(-(-images // 4), width)), 4, axis=0)[:images]
    return unit(1 + families + 0.2 * luck.normal(size=(images, width)))


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture
def pictured(study, tmp_path):
    """The shared study with captions and pictures of its own: 12 images, the last picture lost; and captions alone."""
    ids = [f"img{number:02d}" for number in range(12)]
    captions = [f"{CAPTIONS[number % 4]} Number {number // 4}." for number in range(12)]
    rows = made_rows(12).tolist()
    for name in ids[:-1]:
        Image.new("RGB", (300, 200), "teal").save(tmp_path / f"{name}.png")
    store.write_rows(tmp_path / "text.parquet", [{"id": i, "text": row} for i, row in zip(ids, rows, strict=True)])
    manifest = [{"id": i, "image": f"{i}.png", "caption": words} for i, words in zip(ids, captions, strict=True)]
    store.write_rows(tmp_path / "test.parquet", manifest)
    alone = [{"id": i, "caption": words, "text": row} for i, words, row in zip(ids, captions, rows, strict=True)]
    store.write_rows(tmp_path / "alone.parquet", alone)
    split = {"backbone": "tiny", "benchmark": "scenes", "split": "test", "path": str(tmp_path / "text.parquet")}
    words = {"name": "docci", "encoder": "minilm", "path": str(tmp_path / "alone.parquet")}
    record = {"embeddings": [split], "captions": [words], "manifests": {"scenes/test": str(tmp_path / "test.parquet")}}
    return dataclasses.replace(study, record=study.record | record)


@pytest.fixture
def bare(study):
    return dataclasses.replace(study, record=study.record | {"embeddings": [], "captions": []})


@pytest.fixture
def lone(pictured, tmp_path):
    """Two captions of one image, which are no companions."""
    store.write_rows(tmp_path / "text.parquet", [{"id": "a", "text": [1.0, 0.0]}] * 2)
    store.write_rows(tmp_path / "test.parquet", [{"id": "a", "image": "a.png", "caption": "Two words"}] * 2)
    return dataclasses.replace(pictured, record=pictured.record | {"captions": []})


@pytest.mark.parametrize("cells", [1, 20, 10**6])
def test_geometry_equals_loops_and_leaves_out_captions_of_the_same_image(monkeypatch, cells):
    monkeypatch.setattr(module, "CELLS", cells)
    ids = ["a", "a", "b", "c", "c", "c", "d"]
    text_ND = unit(made_rows(7, 5))
    every, hardest, companion = [], [], []
    for i in range(7):
        others = {j: float(text_ND[i].astype(float) @ text_ND[j].astype(float)) for j in range(7) if ids[i] != ids[j]}
        every += others.values()
        companion.append(max(others, key=others.get))
        hardest.append(others[companion[-1]])
    found = caption_geometry(ids, text_ND)
    assert found.mean == pytest.approx(numpy.mean(every)) and found.mean_hardest == pytest.approx(numpy.mean(hardest))
    assert found.alike == pytest.approx(numpy.mean([cosine >= 0.8 for cosine in every]))
    assert numpy.array_equal(found.pairs, numpy.histogram(every, BINS)[0])
    assert numpy.allclose(found.hardest_N, hardest) and list(found.companion_N) == companion
    assert found.buckets == pytest.approx(numpy.histogram(hardest, [-1, 0.8, 0.9, 0.95, 1.1])[0] / 7)


def test_a_lower_edge_belongs_to_its_bucket():
    hardest_N = numpy.float32([-1, 0.79, 0.8, 0.9, 0.95, 1])
    found = module.Geometry(numpy.zeros(1), 0.0, 0.0, hardest_N, numpy.zeros(6, int))
    assert found.buckets.tolist() == pytest.approx([2 / 6, 1 / 6, 1 / 6, 2 / 6])


def test_one_image_has_no_companions():
    with pytest.raises(ValueError, match="at least two images"):
        caption_geometry(["a", "a"], numpy.eye(2, dtype="float32"))


def test_duplicates_are_of_different_images():
    assert duplicates(["a", "a", "b", "c", "d"], ["x", "x", "y", "y", "X"]) == 2


def test_embeddings_are_read_as_rows(study):
    ids, text_ND = read_text(study.embeddings[0]["path"])
    assert text_ND.shape == (128, 16) and len(ids) == 128
    assert numpy.allclose(numpy.linalg.norm(text_ND, axis=1), 1, atol=1e-5)


def test_sets_are_splits_and_captions_alone(pictured, tmp_path):
    split, alone = read_sets(pictured)
    assert (split.name, split.encoder, alone.name, alone.encoder) == ("scenes/test", "tiny", "docci", "minilm")
    assert split.captions == alone.captions and split.pictures[3] == tmp_path / "img03.png" and not alone.pictures
    assert list(titles(pictured).values()) == ["tiny on scenes/test", "minilm on docci"]


def test_captions_of_another_manifest_are_refused(pictured, tmp_path):
    store.write_rows(tmp_path / "test.parquet", [{"id": "other", "image": "a.png", "caption": "words"}] * 12)
    with pytest.raises(ValueError, match="do not list the same captions .* run `snakemake` again"):
        geometry_table(pictured)


def test_the_table_has_the_numbers_and_says_how(pictured):
    (table,), frame = geometry_table(pictured)
    assert list(frame["captions_of"]) == ["scenes/test", "docci"] and list(frame["captions"]) == [12, 12]
    shares = ["below_80", "from_80", "from_90", "from_95"]
    assert frame[shares].sum(axis=1).tolist() == pytest.approx([100, 100]) and (frame["duplicates"] == 0).all()
    assert frame["words"][0] == pytest.approx(numpy.mean([7 + 1, 5 + 2, 5 + 2, 4 + 2]))
    assert len(table.header) == len(table.rows[0]) == sum(width for _, width in table.spans)
    assert "scenes/test" in markdown([table]) and latex([table]).isascii()


def test_embeddings_without_words_have_no_lengths_and_no_duplicates(pictured, tmp_path):
    rows = pandas.read_parquet(tmp_path / "test.parquet")
    rows["caption"] = [f"{name} #{nth}" for name, nth in zip(rows["id"], rows.groupby("id").cumcount(), strict=True)]
    store.write_rows(tmp_path / "test.parquet", rows)
    (table,), frame = geometry_table(pictured)
    assert frame["words"].isna().tolist() == frame["duplicates"].isna().tolist() == [True, False]
    assert table.rows[0][3] == table.rows[0][-1] == "–" and table.rows[1][-1] == "0"
    assert table.notes[-1] == "scenes/test has embeddings without words: lengths and duplicates are not known."


def test_the_figures_have_a_panel_a_set_and_direct_labels(pictured):
    cosines, buckets = draw_geometry(pictured).axes
    labels = [label.get_text() for label in cosines.get_yticklabels()]
    assert labels == ["tiny on scenes/test\n12 captions", "minilm on docci\n12 captions"]
    found = caption_geometry(*read_text(pictured.embeddings[0]["path"]))
    words = [text.get_text().split("\n")[-1] for text in cosines.texts]
    assert words == [f"{found.mean:.2f}", f"{found.mean_hardest:.2f}"] * 2
    assert sum(bar.get_width() for bar in buckets.patches) == pytest.approx(200)
    assert [panel.get_title(loc="left") for panel in draw_caption_cosines(pictured).axes] == [
        "tiny on scenes/test (12 captions)",
        "minilm on docci (12 captions)",
    ]


def test_a_batch_is_of_different_images_and_its_diagonal_is_blank(pictured):
    one = next(read_sets(pictured))
    cosine_NN = batch_cosines(one)
    assert cosine_NN.shape == (12, 12) and numpy.isnan(numpy.diag(cosine_NN)).all()
    assert numpy.array_equal(cosine_NN, batch_cosines(one), equal_nan=True)
    assert numpy.nanmean(cosine_NN) == pytest.approx(caption_geometry(one.ids_N, one.text_ND).mean, abs=1e-6)
    twice = dataclasses.replace(one, ids_N=numpy.repeat(one.ids_N[:6], 2))
    assert batch_cosines(twice).shape == (6, 6) and batch_cosines(one, size=5).shape == (5, 5)
    panel = draw_heat_map(pictured).axes[0]
    assert panel.get_ylabel().startswith("12 captions")
    assert panel.get_title(loc="left") == f"tiny on scenes/test: mean {numpy.nanmean(cosine_NN):.2f}"


@pytest.mark.parametrize("order", [closest, typical])
def test_groups_are_of_different_images_and_begin_with_companions(order):
    ids = numpy.array([f"i{number // 2}" for number in range(40)])
    text_ND = made_rows(40)
    found = caption_geometry(ids, text_ND)
    used: set[int] = set()
    got = groups(ids, text_ND, found, order(found), 3, used)
    rows = [row for group in got for row in group.rows]
    assert len(got) == 3 and len(rows) == len({ids[row] for row in rows}) == len(used) == 12
    assert all(group.rows[1] == found.companion_N[group.rows[0]] for group in got)
    first = got[0]
    cosines = [float(text_ND[i] @ text_ND[j]) for i in first.rows for j in first.rows if i < j]
    assert first.least == pytest.approx(min(cosines)) and first.mean == pytest.approx(numpy.mean(cosines), abs=1e-6)
    left = [row for row in range(40) if ids[row] not in {ids[member] for member in first.rows[:2]}]
    third = max(left, key=lambda row: min(float(text_ND[row] @ text_ND[member]) for member in first.rows[:2]))
    assert first.rows[2] == third


def test_few_images_make_a_small_group():
    text_ND, ids = made_rows(3), ["a", "b", "c"]
    found = caption_geometry(ids, text_ND)
    (group,) = groups(ids, text_ND, found, closest(found), 5, set())
    assert sorted(group.rows) == [0, 1, 2]


def test_shared_words_are_content_words_of_every_caption():
    assert content_words("The dog's red-haired, it IS red.") == ["dog's", "red-haired", "red"]
    shared = shared_words(["A Red star & a dot", "the red star", "star, red; ring"])
    assert shared == {"red", "star"}
    cut = pieces("A Red star, starry.", shared)
    assert cut == [("A ", False), ("Red", True), (" ", False), ("star", True), (", starry.", False)]
    assert "".join(text for text, _ in cut) == "A Red star, starry."
    assert layers("A Red star.", shared) == ("  Red star ", "A         .")


def test_the_gallery_shows_pictures_marks_words_and_escapes(pictured, tmp_path):
    text = near_twins(pictured)
    assert "&lt;b&gt;" in text and "<b>star" not in text and "<mark>red</mark>" in text
    assert text.count("data:image/jpeg;base64,") == 11 and "no picture: img11.png is not here" in text
    assert "Captions alone" in text and str(tmp_path) not in text
    assert not re.search(r"https?:|src=\"(?!data:)|<script|<link", text)


def test_the_figure_of_a_group_bears_a_lost_picture(pictured, tmp_path):
    for path in tmp_path.glob("*.png"):
        path.unlink()
    figure = draw_near_twins(pictured)
    figure.savefig(tmp_path / "drawn.png")
    assert sum("no picture" in text.get_text() for axes in figure.axes for text in axes.texts) == 4


@pytest.mark.parametrize("draw", [draw_caption_cosines, draw_geometry, draw_heat_map, draw_near_twins])
def test_a_study_without_embeddings_or_companions_says_so(bare, lone, draw):
    (words,) = draw(bare).axes[0].texts
    assert words.get_text().startswith("No ")
    assert draw(lone).axes[0].texts


def test_tables_and_gallery_without_companions_say_so(bare, lone):
    (table,), frame = geometry_table(bare)
    assert not table.rows and table.notes == ["No geometry: the study lists no embeddings of captions."] and frame.empty
    (table,), frame = geometry_table(lone)
    assert table.rows[0][4] == "–" and "scenes/test has one image" in table.notes[-1] and pandas.isna(frame["mean"][0])
    assert "No near-twins" in near_twins(bare) and "has one image" in near_twins(lone)
