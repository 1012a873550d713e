"""The join with the paper's numbers, on made-up results for `docci`."""

import dataclasses

import pandas
import pytest

from hnclip.report.load import OVERLAP, Study
from hnclip.report.methods import methods, settings, zero_shot
from hnclip.report.paper import FRAMEWORKS, TEST_PAIRS, TRAIN_PAIRS, Printed, Run, run_of, tables
from hnclip.report.paper_table import paper_table
from hnclip.report.writer import latex, markdown

OURS = Run("docci", "docci", "longclip", 1, "boosted", "live", 0.5, 100, 42)


@pytest.fixture(scope="module")
def docci(study) -> Study:
    """The made-up study as if it had trained on DOCCI, with the paper's seeds 42 and 43, and 44."""
    where = {"scenes/test": "d/test", "scenes/unseen": "d/qual_dev"}
    ranks = study.ranks.assign(
        train=study.ranks["train"].replace("scenes", "d"),
        target=study.ranks["target"].map(where),
        seed=study.ranks["seed"].replace({1: 42, 2: 43, 3: 44}),
    )
    entry = {"kind": "docci", "options": {}, "train": "train", "test": ["test", "qual_dev"]}
    grids = {name: grid | {"train": ["d"]} for name, grid in study.config["grids"].items()}
    config = study.config | {"grids": grids, "benchmarks": {"d": entry}}
    return dataclasses.replace(study, config=config, ranks=ranks)


def test_every_number_of_the_paper_is_read():
    found = tables()
    runs = [(source, run) for source, rows in found.items() for run in rows]
    assert sum(len(found[source][run].recalls) for source, run in runs) == 792
    assert found["Table 1"][OURS] == Printed("HN-CLIP, the full objective", found["Table 1"][OURS].recalls)
    assert {run.train for _, run in runs} - {""} == set(TRAIN_PAIRS)
    assert {run.test for _, run in runs} == set(TEST_PAIRS)
    assert {(run.framework, run.token_term) for _, run in runs} <= set(FRAMEWORKS.values())


def test_names_are_the_papers(docci):
    named = {}
    for setting in settings(docci):
        for method in methods(docci, setting):
            named[setting.framework, method.loss] = run_of(docci, method, "d/test", 100, 42)
    assert named["hnclip", "hn"] == OURS and named["longclip", "hn"] == OURS._replace(token_term=0)
    plain = OURS._replace(loss="infonce", boost_source="", gamma=0.0)
    assert named["hnclip", "infonce"] == plain
    assert named["finelip", "infonce"] == plain._replace(framework="finelip", token_term=0)
    assert named["longclip", "infonce-s17"] is None and named["longclip", "margin"] is None
    released = run_of(docci, zero_shot(docci, "tiny"), "d/test", 0, 0)
    assert released == Run("", "docci", "zero_shot", 0, "", "", 0.0, 100, 42) and released in tables()["Table 1"]
    assert run_of(docci, zero_shot(docci, "tiny"), "d/qual_dev", 0, 0) is None


def test_ours_stands_beside_the_papers_with_the_difference(docci):
    _, rows = paper_table(docci)
    keep = (rows["source"] == "Table 1") & (rows["framework"] == "hnclip") & (rows["direction"] == "t2i")
    (row,) = rows[keep & (rows["k"] == 5)].to_dict("records")
    ranks = docci.ranks[(docci.ranks["framework"] == "hnclip") & (docci.ranks["loss"] == "hn")]
    ranks = ranks[(ranks["seed"] == 42) & (ranks["target"] == "d/test") & (ranks["direction"] == "t2i")]
    assert row["ours"] == pytest.approx(100 * (ranks["rank"] < 5).mean(), abs=1e-9)
    assert row["paper"] == tables()["Table 1"][OURS].recalls["t2i", 5]
    assert row["difference"] == pytest.approx(row["ours"] - row["paper"], abs=1e-9)
    assert row["low"] <= row["ours"] <= row["high"] and row["paper_within_interval"] in ("yes", "no")
    assert (row["queries"], row["gallery"], row["seed"], row["fraction"]) == (64, 64, 42, 100)
    assert row["note"] == "HN-CLIP, the full objective"


def test_every_cell_that_the_paper_has_is_there_and_no_other(docci):
    found, rows = paper_table(docci)
    cells = set(zip(rows["source"], rows["framework"], rows["loss"], rows["fraction"], rows["seed"], strict=True))
    longclip = {("Table A4", "longclip", loss, 100, 42) for loss in ("infonce", "hn")}
    finelip = {("Table 1", "finelip", "infonce", 100, 42)} | {
        ("Table A4", "finelip", loss, 100, 42) for loss in ("infonce", "hn")
    }
    own = {("Table 1", "hnclip", "hn", 100, 42), ("Table 3a", "hnclip", "hn", 100, 42)}
    own |= {("Table 3a", "hnclip", "infonce", 100, 42), ("Table 1", "zero_shot", "none", 0, 0)}
    assert cells >= longclip | finelip | own
    assert {cell[4] for cell in cells} <= {0, 42, 43} and set(rows["target"]) == {"d/test"}
    assert [table.title for table in found if "Table A4" in table.title] == [
        "Beside the paper's numbers: its Table A4 on d/test, percent"
    ]
    assert set(rows["loss"]) == {"none", "infonce", "hn"}
    replica = rows[(rows["source"] == "Table A4") & (rows["framework"] == "finelip") & (rows["loss"] == "infonce")]
    assert set(replica["note"]) == {"re-evaluated replica"}


def test_the_table_reads_as_the_paper(docci):
    found, _ = paper_table(docci)
    first = next(table for table in found if "Table 1 " in table.title)
    assert first.header[:5] == ["framework", "loss", "seed", "the paper's row", "direction"]
    assert first.spans == [("", 5), ("R@1", 3), ("R@5", 3), ("R@10", 3)]
    own = next(row for row in first.rows if row[0] == "hnclip")
    assert own[1:5] == ["boosted, γ = 0.5", "42", "HN-CLIP, the full objective", "caption → image"]
    assert own[6] == f"{tables()['Table 1'][OURS].recalls['t2i', 1]:.2f}"
    notes = " ".join(first.notes)
    assert "64 captions search 64 images" in notes and "tests on 5100 pairs" in notes
    assert "starts from Long-CLIP-L, this study from tiny (starter)" in notes
    assert all(line.count("|") == 15 for line in markdown([first]).splitlines() if line[:1] == "|")
    assert latex([first]).count("\\midrule") == 1


def test_images_that_were_trained_on_are_marked_beside_the_papers(docci):
    rows = pandas.DataFrame([("d", "d/test", 64, 32, 0.5, None)], columns=list(OVERLAP))
    found, rows = paper_table(dataclasses.replace(docci, overlap=rows))
    assert any(row[0] == "hnclip †" for row in found[0].rows) and "(50.0%)" in " ".join(found[0].notes)
    assert set(rows.loc[rows["framework"] == "hnclip", "trained_on"]) == {50.0}


def test_the_papers_own_overlap_is_said(docci):
    dci = {"kind": "dci", "options": {}, "train": "train", "test": ["test"]}
    long_dci = {"kind": "long_dci", "options": {}, "test": ["test"]}
    grids = {name: grid | {"train": ["d"], "transfer": ["l"]} for name, grid in docci.config["grids"].items()}
    config = docci.config | {"benchmarks": {"d": dci, "l": long_dci}, "grids": grids}
    ranks = docci.ranks.assign(target=docci.ranks["target"].replace({"d/test": "l/test", "d/qual_dev": "d/test"}))
    found, _ = paper_table(dataclasses.replace(docci, config=config, ranks=ranks))
    notes = {table.title.split(" on ")[1].split(",")[0]: " ".join(table.notes) for table in found}
    assert "have seen 5445 of its 7444 pairs of Long-DCI (73.1%)" in notes["l/test"] and "seen" not in notes["d/test"]


def test_a_study_without_a_row_of_the_paper_says_so(study):
    (table,), rows = paper_table(study)
    assert rows.empty and not table.rows and table.notes[0].startswith("No cell of this study is a row of the paper's")
