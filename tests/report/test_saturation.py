"""Solved batches: the loss against its definition, the gap that would do, and words that follow from the numbers."""

import dataclasses
import math

import numpy
import pandas
import pyarrow
import pytest
from matplotlib import pyplot

from hnclip import store
from hnclip.report import saturation
from hnclip.report.methods import Method, zero_shot
from hnclip.report.model_embeddings import Embedded, embedded_cells, read_cell
from hnclip.report.saturation import saturation_table, saturation_verdicts
from hnclip.report.saturation_figure import draw_saturation
from hnclip.report.solved import SOLVED, batch_loss, curve, needed_gap
from hnclip.report.writer import latex, markdown

METHOD = Method("tiny", "scenes", "longclip", "infonce", "plain", "plain")


def unit(rows_ND: numpy.ndarray) -> numpy.ndarray:
    return (rows_ND / numpy.linalg.norm(rows_ND, axis=1, keepdims=True)).astype(numpy.float32)


def made_model(images: int, noise: float, captions: int = 1, scale: float | None = 100.0) -> Embedded:
    """Captions near their images, further away with more noise."""
    luck = numpy.random.default_rng(3)
    image_ID = unit(luck.normal(size=(images, 16)))
    ids_C = numpy.repeat([f"{number:03d}" for number in range(images)], captions).astype(object)
    image_CD = numpy.repeat(image_ID, captions, axis=0)
    text_CD = unit(image_CD + noise * luck.normal(size=image_CD.shape))
    return Embedded(METHOD, 1, "scenes/train", scale, ids_C, image_CD, text_CD)


def looped(cosine_NN: numpy.ndarray, scale: float) -> tuple[float, float]:
    """Loss and gap by their definition, in float64."""
    losses, gaps = [], []
    for rows_NN in (cosine_NN, cosine_NN.T):
        for row, values in enumerate(rows_NN.astype(float)):
            others = [value for column, value in enumerate(values) if column != row]
            losses.append(math.log1p(sum(math.exp(scale * (value - values[row])) for value in others)))
            gaps.append(values[row] - max(others))
    return float(numpy.mean(losses)), float(numpy.mean(gaps))


@pytest.mark.parametrize("scale", [1.0, 17.0, 100.0])
@pytest.mark.parametrize("noise", [0.02, 0.5, 3.0])
def test_loss_and_gap_against_loops(scale, noise):
    model = made_model(9, noise)
    cosine_NN = model.image_CD @ model.text_CD.T
    found = batch_loss(numpy.stack([cosine_NN, cosine_NN[::-1, ::-1]]), scale)
    loss, gap = looped(cosine_NN, scale)
    assert numpy.allclose(found[0], loss, rtol=2e-5, atol=1e-9) and numpy.allclose(found[1], gap, atol=1e-6)


@pytest.mark.parametrize(("batch", "scale"), [(2, 100.0), (16, 100.0), (512, 17.0)])
def test_the_needed_gap_gives_the_loss_of_a_solved_batch(batch, scale):
    gap = needed_gap(batch, scale)
    assert math.log1p((batch - 1) * math.exp(-scale * gap)) == pytest.approx(SOLVED)
    cosine_KNN = numpy.where(numpy.eye(batch, dtype=bool), 0.9, 0.9 - gap)[None]
    assert batch_loss(cosine_KNN, scale)[0] == pytest.approx(SOLVED)


def test_a_curve_has_every_contrast_that_the_split_can_fill():
    model = made_model(70, 0.05, captions=3)
    points = curve(model)
    assert [point.batch for point in points] == [8, 16, 32, 64] and points == curve(model)
    assert all(0 <= point.solved <= 1 for point in points)
    assert [point.gap for point in points] == sorted((point.gap for point in points), reverse=True)
    assert all(point.solved == 1.0 for point in curve(made_model(70, 0.0001, scale=1000.0)))
    assert all(point.solved == 0.0 for point in curve(made_model(70, 9.0)))


def rows(solved: dict[int, float]) -> pandas.DataFrame:
    found = pandas.DataFrame({"batch": list(solved), "solved": list(solved.values())})
    return found.assign(method=METHOD, split="scenes/train")


@pytest.mark.parametrize(
    ("solved", "words"),
    [
        ({16: 90.0, 128: 10.0, 512: 0.0}, "It is the contrast of 16"),
        ({16: 90.0, 128: 85.0, 512: 80.0}, "A contrast of 512 saturates as well"),
        ({16: 2.0, 512: 0.0}, "not saturated even"),
        ({8: 90.0, 16: 80.0}, "too few images"),
    ],
)
def test_the_verdict_follows_from_the_numbers(study, solved, words):
    (found,) = saturation_verdicts(study, rows(solved))
    assert words in found and "longclip" in found and "scenes/train" in found


def test_other_losses_get_no_verdict(study):
    other = dataclasses.replace(METHOD, kind="boosted")
    assert saturation_verdicts(study, rows({16: 90.0, 512: 0.0}).assign(method=other)) == []


@pytest.fixture
def with_cells(study, tmp_path):
    """The made study with two embedded losses, one of them from two seeds, and a backbone that tells its scale."""
    listed = []
    for loss, seed, noise in (("infonce", 1, 0.2), ("infonce", 2, 0.25), ("hn", 1, 0.1)):
        cell = f"tiny/scenes/longclip/{loss}/f100/s{seed}"
        path = tmp_path / cell / "e.parquet"
        write(path, made_model(40, noise), ["scenes/train", "scenes/test"])
        listed.append({"cell": cell, "benchmark": "scenes", "path": str(path)})
    write(tmp_path / "frozen.parquet", made_model(40, 0.5), None)
    named = {"backbone": "tiny", "benchmark": "scenes", "split": "test", "path": str(tmp_path / "frozen.parquet")}
    return dataclasses.replace(study, record={**study.record, "cell_embeddings": listed, "embeddings": [named]})


def write(path, model: Embedded, splits: list[str] | None) -> None:
    columns = {"id": pyarrow.array(model.ids_C.tolist())}
    columns |= {
        name: pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows_CD.ravel()), rows_CD.shape[1])
        for name, rows_CD in (("image", model.image_CD), ("text", model.text_CD))
    }
    table = pyarrow.table(columns)
    if splits:
        table = pyarrow.concat_tables(
            table.add_column(0, "split", pyarrow.array([split] * len(table))) for split in splits
        )
    store.write_rows(path, table, {"scale": "50.0"})


def test_what_is_written_is_read_again(with_cells):
    (method, seed, paths), *_ = embedded_cells(with_cells)
    assert (method.kind, seed) == ("plain", 1)
    train, test = read_cell(method, seed, paths)
    assert (train.split, test.split, train.scale) == ("scenes/train", "scenes/test", 50.0)
    assert (test.text_CD == made_model(40, 0.2).text_CD).all() and len(test.image_ID) == 40


def test_files_of_several_benchmarks_are_one_cell(with_cells, tmp_path):
    write(tmp_path / "other.parquet", made_model(9, 0.3), ["stamps/test"])
    first = with_cells.record["cell_embeddings"][0]
    listed = [*with_cells.record["cell_embeddings"], first | {"path": str(tmp_path / "other.parquet")}]
    more = dataclasses.replace(with_cells, record={**with_cells.record, "cell_embeddings": listed})
    found = embedded_cells(more)
    assert [(method.loss, seed) for method, seed, _ in found] == [("infonce", 1), ("infonce", 2), ("hn", 1)]
    assert [model.split for model in read_cell(*found[0])] == ["scenes/train", "scenes/test", "stamps/test"]


def test_the_table_has_a_row_a_method_and_split(with_cells):
    tables, frame = saturation_table(with_cells)
    solved, gaps = tables
    assert [row[1:5] for row in solved.rows] == [
        ["plain", "scenes/train", "50.0", "2"],
        ["plain", "scenes/test", "50.0", "2"],
        ["boosted, γ = 0.5", "scenes/train", "50.0", "1"],
        ["boosted, γ = 0.5", "scenes/test", "50.0", "1"],
        ["zero-shot", "scenes/test", "50.0", "–"],
    ]
    assert solved.rows[0][-1] == "–" and "(" in gaps.rows[0][5] and len(solved.header) == len(solved.rows[0])
    assert "longclip, plain, on scenes/train" in solved.notes[0]
    assert len(frame) == 3 * (2 * 3 + 1) and set(frame["batch"]) == {8, 16, 32}
    assert markdown(tables) and latex(tables)


def test_frozen_embeddings_without_a_scale_are_named_and_left_out(with_cells, tmp_path):
    path = with_cells.embeddings[0]["path"]
    frozen = pyarrow.parquet.read_table(path).replace_schema_metadata(None)
    store.write_rows(path, frozen)
    (solved, _), _ = saturation_table(with_cells)
    assert "zero-shot" not in {row[1] for row in solved.rows} and "frozen tiny on scenes/test" in solved.notes[-1]


def test_a_study_without_embedded_cells_says_so(study):
    (table,), frame = saturation_table(dataclasses.replace(study, record={}))
    assert table.rows == [] and table.notes[0].startswith("No ") and frame.empty
    figure = draw_saturation(dataclasses.replace(study, record={}))
    assert figure.axes[0].texts[0].get_text() == saturation.NOTHING
    pyplot.close(figure)


def test_the_figure_draws_the_table(with_cells):
    figure = draw_saturation(with_cells)
    _, frame = saturation_table(with_cells)
    panel = figure.axes[0]
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == [
        "longclip: scenes/train",
        "longclip: scenes/test",
    ]
    boosted = frame[(frame["loss"] == "hn") & (frame["split"] == "scenes/train")]
    assert any(numpy.allclose(line.get_ydata(), boosted["solved"]) for line in panel.lines)
    assert [text.get_text() for text in panel.texts] == ["plain", "boosted, γ = 0.5"]
    pyplot.close(figure)


def test_a_frozen_backbone_alone_is_drawn(with_cells):
    alone = dataclasses.replace(with_cells, record={**with_cells.record, "cell_embeddings": []})
    figure = draw_saturation(alone)
    assert figure.axes[0].get_title(loc="left") == "tiny: scenes/test"
    assert zero_shot(alone, "tiny").label in [text.get_text() for text in figure.axes[0].texts]
    pyplot.close(figure)
