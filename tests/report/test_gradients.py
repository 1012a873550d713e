"""Audits in the report: shares, ratios and cosines as made; figures; what is said where there are none."""

import dataclasses
import json

import matplotlib
import numpy
import pandas
import pytest
from matplotlib import pyplot
from pyarrow import parquet

from hnclip import store
from hnclip.report import style
from hnclip.report.audits import read_audits
from hnclip.report.gradient_lines import ACTIVE, COSINE, ERROR, LOSSES, VANISHED
from hnclip.report.gradient_table import _short, gradient_table
from hnclip.report.gradients import draw_gradients, draw_gradients_by
from hnclip.report.writer import markdown

STEPS = 4  # an epoch; two epochs, a measurement every second step


def made_rows(precision: str, same: bool = True) -> list[dict]:
    """Plain is solved from the second measurement on, and its gradient then exactly zero but in fp32."""
    rows = []
    for nth, step in enumerate((0, 2, 4, 6)):
        vanished = nth > 0 and precision != "32-true"
        rows.append(
            {
                "step": step,
                "epoch": step // STEPS,
                "precision": precision,
                "pairs": 16,
                "loss_plain": 0.5 if nth == 0 else 1e-5,
                "loss_boosted": 2.0 / (nth + 1),
                "norm_plain": 0.0 if vanished else 10.0 ** (-2 * nth),
                "norm_boosted": 10.0,
                "cosine": float("nan") if vanished else 0.5 + 0.1 * nth,
                "zeros_plain": 1.0 if vanished else 0.25,
                "zeros_boosted": 0.25,
                "update_norm": 0.125 if precision == "32-true" else float("nan"),
                "scale": 100.0,
                "gap": 0.1 * nth,
                "loss_trained": 1.0,
                "same_weights": same,
            }
        )
    return rows


def write_audit(path, same=True, refused=None, precisions=("32-true", "16-mixed", "bf16-mixed")) -> None:
    rows = [row for precision in precisions for row in made_rows(precision, same)]
    record = {"audit": {"every": 2}, "refused": refused or {}, "device": "cpu", "steps_an_epoch": STEPS}
    store.write_rows(path, rows, {"audit": json.dumps(record)})


@pytest.fixture
def audited(study, tmp_path):
    """The study with audits of these cells."""

    def make(*cells, **how):
        entries = []
        for cell in cells:
            entries.append({"cell": f"tiny/scenes/{cell}", "path": str(tmp_path / cell / "audit.parquet")})
            write_audit(tmp_path / cell / "audit.parquet", **how)
        return dataclasses.replace(study, record={**study.record, "audits": entries})

    return make


def row_of(frame: pandas.DataFrame, **keys) -> pandas.Series:
    for name, value in keys.items():
        frame = frame[frame[name] == value]
    (row,) = frame.to_dict("records")
    return row


def test_shares_ratio_and_cosine_are_those_of_the_measurements(audited):
    tables, frame = gradient_table(audited("longclip/infonce/f100/s1", "longclip/hn/f100/s1"))
    whole = row_of(frame, loss="hn", precision="32-true", epoch="all")
    assert (whole["measurements"], whole["solved_plain"], whole["solved_boosted"]) == (4, 75.0, 0.0)
    assert (whole["zero_plain"], whole["zeros_plain"]) == (0.0, 25.0)
    assert float(whole["norm_ratio"]) == pytest.approx(numpy.median([1e1, 1e3, 1e5, 1e7]), rel=0.1)
    assert whole["cosine_mean"] == pytest.approx(0.65)
    assert whole["cosine_sd"] == pytest.approx(numpy.std([0.5, 0.6, 0.7, 0.8], ddof=1))
    assert row_of(frame, loss="hn", precision="16-mixed", epoch="all")["zero_plain"] == 75.0
    assert row_of(frame, loss="hn", precision="32-true", epoch=1)["solved_plain"] == 50.0
    assert row_of(frame, loss="hn", precision="32-true", epoch=2)["solved_plain"] == 100.0
    gradients, batches = tables
    assert len(gradients.rows) == 2 * 3 + 1 and gradients.rows[-1][0] == "paper" and "47 / –" in gradients.rows[-1]
    fp16 = next(row for row in gradients.rows if "fp16" in row)
    assert fp16[-7:] == ["75.0 / 0.0", "81.2 / 25.0", "10 (10 to 10)", "0.50 ± –", "–", "100.0", "0.15"]
    assert batches.rows[0][-4:] == ["plain", "50.0", "100.0", "75.0"]
    assert batches.rows[1][-4:] == ["boosted", "0.0", "0.0", "0.0"]
    assert "ended with the weights of the run itself" in markdown(tables)


def test_other_weights_and_refused_precisions_are_told(audited):
    how = {"same": False, "refused": {"16-mixed": "not implemented"}, "precisions": ("32-true", "bf16-mixed")}
    words = markdown(gradient_table(audited("longclip/hn/f100/s1", **how))[0])
    assert "Ended with other weights than the run itself (tiny/scenes/longclip/hn/f100/s1)" in words
    assert "boosted, γ = 0.5 \\*" in words and "fp16 was refused by the device: not implemented." in words


def test_losses_that_are_not_finite_are_counted(audited):
    study = audited("longclip/hn/f100/s1")
    assert "not finite" not in markdown(gradient_table(study)[0])
    path = study.record["audits"][0]["path"]
    table = parquet.read_table(path)
    rows = table.to_pandas()
    rows.loc[(rows["precision"] == "16-mixed") & (rows["step"] == 0), "loss_boosted"] = numpy.inf
    store.write_rows(path, rows, {"audit": table.schema.metadata[b"audit"].decode()})
    assert "In fp16 1 of 4 measurements had a loss that is not finite" in markdown(gradient_table(study)[0])


def test_lines_are_the_measurements(audited):
    study = audited("longclip/hn/f100/s1")
    (audit,) = read_audits(study)
    plain, boosted = LOSSES.lines(study, audit)
    assert plain.x == [0.0, 0.5, 1.0, 1.5] and plain.y == [0.5, 1e-5, 1e-5, 1e-5]
    assert boosted.y == [2.0, 1.0, 2 / 3, 0.5] and boosted.colour == style.COLOURS["boosted"]
    assert COSINE.lines(study, audit)[0].y == pytest.approx([0.5, 0.6, 0.7, 0.8])
    assert [(line.words, line.y) for line in ACTIVE.lines(study, audit)] == [
        ("plain", [50.0, 0.0]),
        ("boosted", [100.0, 100.0]),
    ]
    vanished = {line.words: line.y for line in VANISHED.lines(study, audit)}
    assert vanished["plain, fp32"] == [0.0, 0.0] and vanished["plain, fp16"] == [50.0, 100.0]
    assert len(vanished) == 6
    error = ERROR.lines(study, audit)[0]
    logged = study.epochs.query("framework == 'longclip' and loss == 'hn' and seed == 1 and target == 'scenes/test'")
    last = logged[logged["fraction"] == 100].sort_values("epoch").iloc[-1]
    assert error.words == "scenes/test" and error.x[-1] == last["epoch"] + 1
    assert error.y[-1] == pytest.approx(100 - 50 * (last["t2i_r1"] + last["i2t_r1"]))


def titles(figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]


def said(figure) -> str:
    return " ".join(text.get_text() for text in figure.texts)


def test_figure_4_has_a_column_a_loss_on_all_data_and_a_line_a_seed(audited):
    cells = "longclip/infonce/f100/s1 longclip/hn/f100/s1 longclip/hn/f100/s2 longclip/hn/f020/s1".split()
    with matplotlib.rc_context(style.RC):
        figure = draw_gradients(audited(*cells))
        figure.canvas.draw()
    assert titles(figure) == ["trained with\nplain", "trained with\nboosted, γ = 0.5"]
    columns = len(titles(figure))
    assert len(figure.axes[0].lines) == 2 and len(figure.axes[1].lines) == 4
    assert len(figure.axes) == 6 * columns
    assert "4 measurements a training" in said(figure) and "Seeds 1, 2" in said(figure)
    assert "100 % of the data" in said(figure)
    pyplot.close(figure)


def test_figure_a8_has_a_column_a_share_of_the_data(audited):
    cells = "longclip/infonce/f100/s1 longclip/hn/f100/s1 longclip/hn/f020/s1".split()
    figure = draw_gradients_by(audited(*cells, same=False))
    assert titles(figure) == ["longclip, scenes\n100 % of the data", "longclip, scenes\n20 % of the data"]
    assert "2 of 2 trainings ended with other weights" in said(figure)
    pyplot.close(figure)


def test_nothing_audited_is_said(study):
    tables, frame = gradient_table(study)
    assert not tables[0].rows and "No audits" in tables[0].notes[0] and frame.empty and "norm_ratio" in frame
    for draw in (draw_gradients, draw_gradients_by):
        figure = draw(study)
        assert figure.axes[0].texts[0].get_text().startswith("No audits")
        pyplot.close(figure)


def test_one_training_set_and_share_is_no_comparison(audited):
    figure = draw_gradients_by(audited("longclip/hn/f100/s1"))
    assert figure.axes[0].texts[0].get_text().startswith("No comparison")
    pyplot.close(figure)


def test_a_missing_audit_is_named(study, tmp_path):
    entry = {"cell": "tiny/scenes/longclip/hn/f100/s1", "path": str(tmp_path / "audit.parquet")}
    with pytest.raises(FileNotFoundError, match=r"audits are missing: .*audit\.parquet"):
        read_audits(dataclasses.replace(study, record={"audits": [entry]}))


@pytest.mark.parametrize(
    ("number", "words"),
    [(0.0164, "0.016"), (123.4, "120"), (3.44e6, "3.4e6"), (2e-7, "2.0e-7"), (0.0, "0"), (float("inf"), "inf")],
)
def test_numbers_of_any_size_have_two_digits(number, words):
    assert _short(number) == words
