"""The join with the paper's numbers, on made-up results for `docci`."""

import dataclasses

import pandas
import pytest

from hnclip.report.load import OVERLAP, Study
from hnclip.report.methods import methods, settings, zero_shot
from hnclip.report.paper import FRAMEWORKS, TEST_PAIRS, TRAIN_PAIRS, Printed, Run, run_of, tables
from hnclip.report.paper_table import paper_table
from hnclip.report.protocol import differences, recipe_of, train_notes
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
    choices = {(key[0], "d", *key[2:]): choice for key, choice in study.choices.items()}
    return dataclasses.replace(study, config=config, ranks=ranks, choices=choices)


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
    assert named["longclip", "infonce-tuned"] is None
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


def long_dci(docci: Study) -> Study:
    """As if it had trained on DCI and tested on Long-DCI too."""
    dci = {"kind": "dci", "options": {}, "train": "train", "test": ["test"]}
    whole = {"kind": "long_dci", "options": {}, "test": ["test"]}
    grids = {name: grid | {"train": ["d"], "transfer": ["l"]} for name, grid in docci.config["grids"].items()}
    config = docci.config | {"benchmarks": {"d": dci, "l": whole}, "grids": grids}
    ranks = docci.ranks.assign(target=docci.ranks["target"].replace({"d/test": "l/test", "d/qual_dev": "d/test"}))
    return dataclasses.replace(docci, config=config, ranks=ranks)


def test_the_papers_own_overlap_is_said_and_its_numbers_are_marked(docci):
    found, rows = paper_table(long_dci(docci))
    notes = {table.title.split(" on ")[1].split(",")[0]: " ".join(table.notes) for table in found}
    assert "have seen 5445 of its 7444 pairs of Long-DCI (73.1%)" in notes["l/test"] and "seen" not in notes["d/test"]
    first = next(table for table in found if "Table 1 on l/test" in table.title)
    marked = {row[0]: row[6].endswith(" †") for row in first.rows}
    assert marked == {"zero-shot": False, "finelip": True, "hnclip": True}
    trained = rows[(rows["target"] == "l/test") & (rows["train"] == "d")]
    assert set(trained["paper_trained_on"]) == {100 * 5445 / 7444}
    assert set(rows.loc[rows["target"] == "d/test", "paper_trained_on"]) == {0.0}


def test_numbers_of_a_best_epoch_are_marked(docci):
    frozen = docci.config["losses"] | {"hn": {"base": "infonce", "boost": "frozen", "gamma": 0.5}}
    found, rows = paper_table(dataclasses.replace(docci, config=docci.config | {"losses": frozen}))
    (best,) = [table for table in found if "Table A2" in table.title]
    assert all(row[6].endswith(" ‡") for row in best.rows) and "ddagger" in latex([best])
    assert "best epoch of each benchmark, chosen on the test split" in " ".join(best.notes)
    assert set(rows.loc[rows["source"] == "Table A2", "paper_epoch"]) == {"best on the test split"}
    others = [table for table in found if "Table A2" not in table.title]
    assert others and not any("‡" in cell for table in others for row in table.rows for cell in row)
    assert all("does not say of which epoch" in " ".join(table.notes) for table in others)


def test_what_differs_from_the_papers_protocol_is_named(docci):
    found, rows = paper_table(docci)
    first = next(table for table in found if "Table 1 " in table.title)
    (said,) = [note for note in first.notes if note.startswith("Protocol otherwise")]
    assert "backbone tiny (paper Long-CLIP-L), pixels 48 (paper 224), test pairs 64 (paper 5100)" in said
    assert "hnclip on d: epochs 4 (paper 10), lr 0.0001 (paper 2e-06)" in said and "zero-shot" not in said
    row = rows[(rows["framework"] == "finelip") & (rows["source"] == "Table 1")].iloc[0]
    assert "lr 0.0001 (paper 1e-06)" in row["protocol"] and "epochs 4 (paper 10)" in row["protocol"]
    assert any("does not state these" in note and "betas [0.9, 0.98]" in note for note in first.notes)


def test_the_papers_own_protocol_is_no_difference(docci):
    transform = {"size": 224, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
    backbone = {"kind": "longclip", "weights": "hub:a/b/longclip-L.pt", "context": 248, "transform": transform}
    recipe = {"epochs": 10, "batch": 16, "accumulate": 8, "lr": 2e-6, "schedule": "cosine"}
    named = {"hnclip": {"kind": "hnclip", "recipe": {"batch": 128, "accumulate": 1}, "options": {"token_weight": 0.5}}}
    config = docci.config | {"backbones": {"tiny": backbone}, "recipe": recipe}
    config |= {"frameworks": docci.config["frameworks"] | named}
    changed = dataclasses.replace(docci, config=config)
    by_name = {s.framework: methods(changed, s)[0] for s in settings(changed)}
    assert differences(changed, by_name["longclip"], "d/test") == ["test pairs 64 (paper 5100)"]
    assert differences(changed, by_name["hnclip"], "d/test")[1:] == [
        "batch 128 (paper 16)",
        "accumulate 1 (paper 8)",
        "option token_weight 0.5",
    ]
    assert recipe_of(changed, by_name["hnclip"])["batch"] == 128


def test_training_images_stand_beside_the_papers(docci, tmp_path):
    path = tmp_path / "train.parquet"
    pandas.DataFrame({"id": ["a", "a", "b"]}).to_parquet(path)
    given = dataclasses.replace(docci, record={"manifests": {"d/train": str(path)}})
    assert train_notes(given, ["d", ""]) == ["Trained on: d/train has 2 images, the paper's 9450 pairs."]
    assert train_notes(docci, ["d"]) == []


def test_a_study_on_other_data_leaves_the_papers_column_empty(study):
    found, rows = paper_table(study)
    assert [table.title for table in found] == [
        f"Beside the paper's numbers: none on {target}, percent" for target in ("scenes/test", "scenes/unseen")
    ]
    for table in found:
        assert table.notes[0].startswith("No cell of this study is a row of the paper's") and table.rows
        theirs = [nth for nth, name in enumerate(table.header) if name in ("paper", "difference")]
        assert len(theirs) == 6 and {row[nth] for row in table.rows for nth in theirs} == {"–"}
    assert (
        len(rows) and rows[["paper", "difference", "source", "seed"]].isna().all().all() and rows["ours"].notna().all()
    )
    keep = (rows["framework"] == "hnclip") & (rows["loss"] == "hn") & (rows["target"] == "scenes/test")
    (row,) = rows[keep & (rows["direction"] == "i2t") & (rows["k"] == 5)].to_dict("records")
    ranks = study.ranks[(study.ranks["framework"] == "hnclip") & (study.ranks["loss"] == "hn")]
    ranks = ranks[(ranks["target"] == "scenes/test") & (ranks["direction"] == "i2t")]
    assert row["ours"] == pytest.approx(100 * (ranks["rank"] < 5).mean(), abs=1e-9)
