"""The tables' numbers against the ranks, their words, and their escapes."""

import dataclasses

import pandas
import pytest

from hnclip.report.contents import TABLES
from hnclip.report.difference_table import difference_table
from hnclip.report.format import percent, signed, with_interval
from hnclip.report.fraction_table import fraction_table
from hnclip.report.main_table import main_table
from hnclip.report.methods import KINDS, Setting, kind_of, label_of, methods
from hnclip.report.tables import write_tables
from hnclip.report.writer import markdown

LONGCLIP = Setting("tiny", "scenes", "longclip")


def share(
    study, k: int, target: str, direction: str, framework: str, loss: str, seeds=(1, 2, 3), fraction=100
) -> float:
    """R@K in percent by hand: the mean over seeds of the share of ranks below K."""
    rows = study.ranks
    for name, value in {"target": target, "direction": direction, "framework": framework, "loss": loss}.items():
        rows = rows[rows[name] == value]
    rows = rows[rows["fraction"] == fraction]
    return sum(100 * (rows.loc[rows["seed"] == seed, "rank"] < k).mean() for seed in seeds) / len(seeds)


def test_main_csv_holds_the_recalls(study):
    _, rows = main_table(study)
    assert len(rows) == (1 + 6 + 2 + 2 + 2) * 2 * 3
    row = rows[(rows["framework"] == "hnclip") & (rows["loss"] == "hn") & (rows["target"] == "scenes/unseen")]
    row = row[row["direction"] == "i2t"].iloc[0]
    for k in (1, 5, 10, 25, 50):
        assert row[f"R@{k}"] == pytest.approx(share(study, k, "scenes/unseen", "i2t", "hnclip", "hn"), abs=1e-9)
        assert row[f"R@{k} low"] <= row[f"R@{k}"] <= row[f"R@{k} high"]
    assert (row["queries"], row["gallery"], row["seeds"]) == (64, 64, 3)


def test_mean_of_directions_is_their_mean(study):
    _, rows = main_table(study)
    keys = ["framework", "loss", "label", "scoring", "target"]
    score = rows.pivot(index=keys, columns="direction", values="R@1")
    assert (score["mean"] - (score["t2i"] + score["i2t"]) / 2).abs().max() < 1e-9


def test_main_rows_in_order_with_the_tuned_loss(study):
    tables, _ = main_table(study)
    assert [table.title.split()[2].rstrip(",") for table in tables] == ["scenes/test", "scenes/unseen"]
    assert [tuple(row[:3]) for row in tables[0].rows] == [
        ("zero-shot", "–", "–"),
        ("longclip", "plain", "3"),
        ("longclip", "plain, s = 17", "1"),
        ("longclip", "plain, s = 100", "1"),
        ("longclip", "boosted, γ = 0.5", "3"),
        ("longclip", "matched margin, γ = 0.5", "1"),
        ("longclip", "plain, tuned (s = 17)", "3"),
        ("hnclip", "plain", "3"),
        ("hnclip", "boosted, γ = 0.5", "3"),
        ("finelip", "plain", "2"),
        ("finelip", "boosted, γ = 0.5", "2"),
        ("finelip, re-ranked by tokens (0.8 / 0.2)", "plain", "2"),
        ("finelip, re-ranked by tokens (0.8 / 0.2)", "boosted, γ = 0.5", "2"),
    ]
    notes = " ".join(tables[0].notes)
    assert "with seed 9; that seed stands in no row" in notes and "64 captions search 64 images" in notes
    assert "Last epoch" in notes and "Ties count against" in notes and "16 families" in notes


def test_a_tuned_method_is_named_by_the_setting_that_was_chosen(study):
    tuned = [method for method in methods(study, LONGCLIP) if method.tuned]
    assert [(m.loss, m.kind, m.label) for m in tuned] == [("infonce-tuned", "plain", "plain, tuned (s = 17)")]
    (key,) = study.choices
    learned = {**study.choices[key], "chosen": "infonce-tuned-scalelearned"}
    other = dataclasses.replace(study, choices={key: learned})
    assert [m.label for m in methods(other, LONGCLIP) if m.tuned] == ["plain, tuned (learned s)"]


def test_differences_are_paired_over_shared_seeds(study):
    _, rows = difference_table(study)
    here = rows[(rows["target"] == "scenes/test") & (rows["framework"] == "longclip")].set_index(["a", "b"])
    assert list(here.index) == [
        ("hn", "infonce"),
        ("margin", "infonce"),
        ("hn", "margin"),
        ("hn", "infonce-tuned"),
        ("margin", "infonce-tuned"),
        ("infonce-tuned", "infonce"),
    ]

    def mean(loss, seeds):
        both = (share(study, 1, "scenes/test", d, "longclip", loss, seeds) for d in ("t2i", "i2t"))
        return sum(both) / 2

    for other, seeds in {"infonce": (1, 2, 3), "margin": (1,), "infonce-tuned": (1, 2, 3)}.items():
        assert here.loc[("hn", other), "points"] == pytest.approx(mean("hn", seeds) - mean(other, seeds), abs=1e-9)
        assert here.loc[("hn", other), "seeds"] == len(seeds)


def test_fraction_table_holds_every_share(study):
    tables, rows = fraction_table(study)
    assert tables[0].header == ["framework", "loss", "5 %", "20 %", "50 %", "100 %"]
    assert [row[1] for row in tables[0].rows] == [
        "plain",
        "boosted, γ = 0.5",
        "difference: boosted, γ = 0.5 minus plain",
    ]
    row = rows[(rows["loss"] == "hn") & (rows["fraction"] == 20) & (rows["target"] == "scenes/test")].iloc[0]
    both = [share(study, 1, "scenes/test", d, "longclip", "hn", (1,), 20) for d in ("t2i", "i2t")]
    assert row["score"] == pytest.approx(sum(both) / 2, abs=1e-9) and len(rows) == 2 * 2 * 4


def test_missing_grids_are_said(study):
    whole = study.ranks[study.ranks["fraction"].isin([0, 100]) & study.ranks["loss"].isin(["none", "infonce"])]
    bare = dataclasses.replace(study, ranks=whole)
    tables, rows = fraction_table(bare)
    assert rows.empty and "no such grid" in tables[0].notes[0] and "|" not in markdown(tables)
    tables, rows = difference_table(bare)
    assert rows.empty and tables[0].notes[0].startswith("This study has nothing to compare here: ")
    assert "share seeds" not in markdown(tables)


def test_few_images_are_said_under_every_table(study, lone_study):
    for make in (main_table, fraction_table, difference_table):
        assert "N is small" not in markdown(make(study)[0])
        for table in make(lone_study)[0]:
            assert [note for note in table.notes if note.startswith("N is small: scenes/")][0].endswith(
                "has 1 image, so one query more or less moves R@1 of a direction by up to 100.0 points of percent, and "
                "intervals over so few are rough."
            )
            assert table.notes[0].endswith("; 1 family.")
    few = study.ranks.assign(gallery=29)
    assert "has 29 images, so one query" in " ".join(main_table(dataclasses.replace(study, ranks=few))[0][0].notes)


PLAIN = {"base": "infonce", "boost": "none"}
CAPTIONS = {"base": "infonce", "boost": "captions", "gamma": 0.5}


@pytest.mark.parametrize(
    ("kind", "entry", "label"),
    [
        ("plain", PLAIN, "plain"),
        ("scale", PLAIN | {"scale": 17}, "plain, s = 17"),
        ("plain", PLAIN | {"scale": [17, None]}, None),
        ("boosted", CAPTIONS, "boosted, γ = 0.5"),
        ("boosted", CAPTIONS | {"gamma": [0.25, 0.5]}, None),
        ("opposite", CAPTIONS | {"gamma": -0.5}, "opposite sign, γ = −0.5"),
        ("frozen", CAPTIONS | {"boost": "frozen", "scale": 50}, "boosted, frozen Ḡ, γ = 0.5, s = 50"),
        ("constant", PLAIN | {"boost": "constant", "margin": 0.42}, "constant margin, m = 0.42"),
        ("smoothing", PLAIN | {"label_smoothing": 0.1}, "label smoothing, smoothing = 0.1"),
        ("masked", PLAIN | {"mask_duplicates": True}, "duplicates masked"),
        ("other", CAPTIONS | {"mask_duplicates": True}, "odd"),
        ("reweighted", {"base": "reweighted", "boost": "none", "beta": 0.25}, "reweighted (HN-NCE), β = 0.25"),
        ("other", CAPTIONS | {"base": "reweighted", "beta": 0.25}, "odd"),
        ("sigmoid_boosted", CAPTIONS | {"base": "sigmoid", "threshold": 1}, "sigmoid, boosted, γ = 0.5, threshold = 1"),
        ("other", {"base": "unheard", "boost": "none"}, "odd"),
    ],
)  # fmt: skip
def test_labels_and_kinds(kind, entry, label):
    assert kind_of(entry) == kind and kind in KINDS
    assert label is None or label_of("odd", entry) == label


def test_losses_with_the_same_words_are_told_apart(study):
    config = study.config | {"losses": study.config["losses"] | {"margin": study.config["losses"]["hn"]}}
    labels = [method.label for method in methods(dataclasses.replace(study, config=config), LONGCLIP)]
    assert "boosted, γ = 0.5 (hn)" in labels and "boosted, γ = 0.5 (margin)" in labels


def test_files_are_written_in_four_formats(study, tmp_path):
    write_tables(study, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{ending}" for name in TABLES for ending in ("csv", "html", "md", "tex")
    }
    rows = pandas.read_csv(tmp_path / "main.csv", keep_default_na=False)
    columns = "backbone train framework loss label scoring target direction queries gallery seeds"
    assert list(rows.columns[:11]) == columns.split()
    assert rows["R@1"].astype(str).str.fullmatch(r"\d+\.\d+").all()
    tex = (tmp_path / "main.tex").read_text()
    assert tex.count("\\begin{table}") == 2 == tex.count("\\bottomrule") and "$\\gamma$ = 0.5" in tex
    text = (tmp_path / "main.md").read_text()
    assert all(line.count("|") == text.splitlines()[2].count("|") for line in text.splitlines() if line[:1] == "|")


def test_numbers_as_printed():
    assert (percent(41.26), percent(100.0), percent(float("nan"))) == ("41.3", "100.0", "–")
    assert (signed(1.26), signed(-0.34), signed(-0.04), signed(0.0)) == ("+1.3", "−0.3", "0.0", "0.0")
    assert with_interval({"score": 41.26, "low": 38.0, "high": 44.55}).startswith("41.3 [38.0, 44.")
    assert with_interval(None) == "–"
