"""What the report says of the data: test images that were trained on, licences, rotated pictures, no validation."""

import dataclasses

import pandas
import pytest
from conftest import write_manifest

from hnclip import store
from hnclip.report.collect import collect
from hnclip.report.curves import draw_epochs, draw_fractions
from hnclip.report.data_notes import exif_notes, licence_notes
from hnclip.report.difference_table import difference_table
from hnclip.report.fraction_table import fraction_table
from hnclip.report.load import OVERLAP, SOURCES, read_study
from hnclip.report.main_table import main_table
from hnclip.report.overlap import overlap
from hnclip.report.overlap_table import overlap_table
from hnclip.report.plugin_table import plugin_table
from hnclip.report.summary import summary
from hnclip.report.writer import latex, markdown

TABLES = (main_table, difference_table, fraction_table, plugin_table)
SEEN = "48 of the 64 images of scenes/unseen (75.0%) are among those of scenes/train"
LICENCE = "Not for commercial use, by the licence of the data: photos, walks (source dci: CC BY-NC 4.0)."


@pytest.fixture(scope="module")
def study(study):
    """The made-up study without its third framework, drawn few times, since these tests are about words."""
    config = study.config | {"report": study.config["report"] | {"ks": [1], "bootstrap": 10}}
    return dataclasses.replace(study, config=config, ranks=study.ranks[study.ranks["framework"] != "finelip"])


@pytest.fixture
def seen(study):
    """The study as if three quarters of `unseen` had been trained on."""
    rows = [("scenes", "scenes/test", 64, 0, 0.0, None), ("scenes", "scenes/unseen", 64, 48, 0.75, None)]
    return dataclasses.replace(study, overlap=pandas.DataFrame(rows, columns=list(OVERLAP)))


def two_sets(folder, kinds: tuple[str, str], tested: list[str], contents: list[str] | None = None) -> dict:
    """A record of a study that trains on `a` (images 1 to 4) and also tests on `b`, of these kinds."""
    write_manifest(folder / "train.parquet", list("1234"))
    write_manifest(folder / "test.parquet", ["5", "6"])
    write_manifest(folder / "b.parquet", tested, contents)
    config = {
        "run": ["all"],
        "grids": {"all": {"train": ["a"], "transfer": ["b"]}},
        "benchmarks": {"a": {"train": "train", "test": ["test"]}, "b": {"test": ["test"]}},
    }
    files = {"a/train": "train", "a/test": "test", "b/test": "b"}
    manifests = {split: str(folder / f"{name}.parquet") for split, name in files.items()}
    downloads = {name: {kind: "none"} for name, kind in zip("ab", kinds, strict=True) if kind}
    return {"config": config, "manifests": manifests, "downloads": downloads, "near": {}, "choices": []}


@pytest.mark.parametrize(
    ("kinds", "contents", "shared"),
    [
        (("dci", "dci"), ["other", "bytes", "each"], 2),  # ids of one source mean the same image
        (("dci", "urban1k"), ["other", "bytes", "each"], 0),  # ids of two sources do not
        ((None, None), ["other", "bytes", "each"], 0),
        ((None, None), ["x", "y", "3"], 1),  # the same file under another name
        (("dci", "dci"), ["x", "y", "3"], 3),
        (("dci", "urban1k"), None, 2),
    ],
)
def test_an_image_counts_by_its_bytes_or_by_its_id_within_a_source(tmp_path, kinds, contents, shared):
    found = overlap(two_sets(tmp_path, kinds, ["1", "4", "9"], contents))
    assert found.drop(columns="near").to_dict("records") == [
        {"train": "a", "target": "a/test", "images": 2, "shared": 0, "share": 0.0},
        {"train": "a", "target": "b/test", "images": 3, "shared": shared, "share": shared / 3},
    ]


def test_ids_of_one_benchmark_mean_the_same_image(tmp_path):
    record = two_sets(tmp_path, (None, None), ["9"])
    write_manifest(tmp_path / "test.parquet", ["4", "6"], ["stored", "anew"])
    assert overlap(record)["shared"].tolist() == [1, 0]


def test_overlap_is_collected_from_the_manifests(small_study):
    ids = [f"train-{number}" for number in (0, 1, 2)] + ["x"]
    write_manifest(small_study.parent / "data" / "unseen.parquet", ids)
    collect(small_study, small_study.parent / "tables")
    found = pandas.read_parquet(small_study.parent / "tables" / "overlap.parquet")
    assert tuple(found.columns) == OVERLAP
    assert found["shared"].tolist() == [0, 3] and found["share"].tolist() == [0, 0.75]


def test_a_missing_manifest_and_a_record_of_an_older_version_are_said(small_study):
    path = small_study.parent / "data" / "unseen.parquet"
    path.unlink()
    with pytest.raises(FileNotFoundError, match=str(path)):
        collect(small_study, small_study.parent / "tables")
    record = store.read_json(small_study)
    store.write_json(small_study, {key: value for key, value in record.items() if key != "manifests"})
    with pytest.raises(ValueError, match="without manifests; delete it"):
        collect(small_study, small_study.parent / "tables")


@pytest.mark.parametrize("make", TABLES)
def test_every_table_marks_and_explains_images_that_were_trained_on(study, seen, make):
    clean, marked = make(seen)[0][:2]
    assert "†" not in markdown([clean]) and "†" not in markdown(make(study)[0])
    names = [row[0] for row in marked.rows]
    trained = [name for name in names if name != "zero-shot"]
    assert trained and all(name.endswith(" †") for name in trained)
    assert sum(SEEN in note for note in marked.notes) == 1 and "$\\dagger$" in latex([marked])
    rows = make(seen)[1]
    trained = rows["framework"] != "zero_shot"
    assert set(rows.loc[(rows["target"] == "scenes/unseen") & trained, "trained_on"]) == {75.0}
    assert set(rows.loc[(rows["target"] == "scenes/test") | ~trained, "trained_on"]) == {0.0}


@pytest.mark.parametrize("draw", [draw_fractions, draw_epochs])
def test_figures_mark_and_explain_images_that_were_trained_on(seen, draw):
    figure = draw(seen)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert all(("†" in title) == ("unseen" in title) for title in titles) and any("†" in title for title in titles)
    assert [text.get_text() for text in figure.texts] == [f"† {SEEN}"]


def test_the_summary_says_what_was_trained_on(study, seen, tmp_path):
    assert f"† Trained on images that it is tested on: {SEEN}." in summary(seen, tmp_path).splitlines()
    assert "†" not in summary(study, tmp_path)
    first = seen.overlap.assign(shared=[1, 0], share=[1 / 64, 0])
    text = summary(dataclasses.replace(seen, overlap=first), tmp_path)
    assert "longclip trained on scenes †, from tiny" in text and "  hnclip †  " in text


def test_the_table_of_overlap_holds_what_is_above_zero(study, seen):
    (table,), rows = overlap_table(seen)
    assert table.rows == [["scenes", "scenes/unseen", "64", "48", "75.0%", "–"]]
    assert rows.drop(columns="near").to_dict("records") == [
        {"train": "scenes", "target": "scenes/unseen", "images": 64, "shared": 48, "percent": 75.0}
    ]
    (table,), rows = overlap_table(study)
    assert rows.empty and not table.rows and table.notes[0].startswith("No image of a test split was trained on (1 ")


def test_near_copies_are_collected_and_said(tmp_path, study):
    record = two_sets(tmp_path, ("visual_genome", "urban1k"), ["1", "4", "9"], ["other", "bytes", "each"])
    store.write_json(tmp_path / "near.json", {"b_found": 2, "a_found": 5})
    found = overlap(record | {"near": {"a": {"b/test": str(tmp_path / "near.json")}}})
    assert found["near"].fillna(-1).tolist() == [-1, 2] and found["shared"].tolist() == [0, 0]
    rows = [("scenes", "scenes/test", 64, 0, 0.0, 3), ("scenes", "scenes/unseen", 64, 0, 0.0, 0)]
    near = dataclasses.replace(study, overlap=pandas.DataFrame(rows, columns=list(OVERLAP)))
    note = (
        "Near copies, by a perceptual hash: 3 of the 64 images of scenes/test have an equal or nearly equal picture in"
    )
    first, second = main_table(near)[0]
    assert f"{note} scenes/train." in first.notes and "Near copies" not in " ".join(second.notes)
    assert f"{note} scenes/train." in summary(near, tmp_path).splitlines() and "†" not in markdown([first])
    (table,), _ = overlap_table(near)
    assert table.rows == [["scenes", "scenes/test", "64", "0", "0.0%", "3"]]


def test_licences_are_collected_from_what_was_downloaded(small_study, tmp_path):
    store.write_json(tmp_path / "dci.json", {"source": "dci", "licence": "CC BY-NC 4.0", "noncommercial": True})
    record = store.read_json(small_study)
    downloads = {"photos": {"dci": str(tmp_path / "dci.json"), "gone": str(tmp_path / "gone.json")}}
    store.write_json(small_study, record | {"downloads": downloads})
    collect(small_study, small_study.parent / "tables")
    made = read_study(small_study, small_study.parent / "tables")
    assert made.sources.to_dict("records") == [
        {"benchmark": "photos", "source": "dci", "licence": "CC BY-NC 4.0", "noncommercial": True}
    ]
    assert licence_notes(made) == [LICENCE.replace("photos, walks", "photos")]


def test_non_commercial_data_is_said_under_tables_and_in_the_summary(study, tmp_path):
    rows = [("photos", "dci", "CC BY-NC 4.0", True), ("free", "docci", "CC BY 4.0", False)]
    rows.append(("walks", "dci", "CC BY-NC 4.0", True))
    bound = dataclasses.replace(study, sources=pandas.DataFrame(rows, columns=list(SOURCES)))
    assert licence_notes(bound) == [LICENCE] and licence_notes(study) == []
    for make in TABLES:
        assert all(LICENCE in table.notes for table in make(bound)[0])
    assert LICENCE in summary(bound, tmp_path).splitlines()


def test_rotated_pictures_are_said(study):
    assert exif_notes(study) == []
    tiny = study.config["backbones"]["tiny"]
    turned = tiny | {"transform": tiny["transform"] | {"exif": "apply"}}
    config = study.config | {"backbones": {"tiny": turned, "matches": turned}}
    (note,) = exif_notes(dataclasses.replace(study, config=config))
    assert note == ("Pictures are rotated as their files say (transform `exif: apply`); the compared methods do not.")
    assert note in main_table(dataclasses.replace(study, config=config))[0][0].notes
    config["backbones"]["other"] = tiny
    config["grids"] = {name: grid | {"backbones": ["tiny", "other"]} for name, grid in config["grids"].items()}
    assert " for tiny; the compared" in exif_notes(dataclasses.replace(study, config=config))[0]
