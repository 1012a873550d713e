"""`hnclip init`: what it finds, writes and refuses."""

import json
from pathlib import Path

import pyarrow
import pytest
import yaml
from PIL import Image
from pyarrow import parquet
from typer.testing import CliRunner

from hnclip import project
from hnclip.cli.app import app
from hnclip.new_study.text import Wanted, study_text


@pytest.fixture
def folder(tmp_path) -> Path:
    """A person's folder: 30 images in a folder of their own, two captions each, columns of other names."""
    home = tmp_path / "mes données"
    (home / "photos").mkdir(parents=True)
    rows = ["file_name,text"]
    for number in range(30):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(home / "photos" / f"{number}.png")
        rows += [f"{number}.png,Colour {number} seen {time}" for time in ("once", "twice")]
    (home / "captions.csv").write_text("\n".join(rows) + "\n")
    return home


def init(*arguments):
    return CliRunner().invoke(app, ["init", *map(str, arguments), "--yes"])


def test_a_folder_becomes_a_study_that_the_workflow_accepts(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = init(folder.name, "--split", "60/20/20", "--losses", "infonce,hn,margin", "--seeds", "1")
    assert done.exit_code == 0, done.output
    study = yaml.safe_load((folder / "study.yaml").read_text())
    assert study["benchmarks"]["mes-donn-es"]["options"] == {
        "captions": "captions.csv",
        "images": "photos",
        "split_hash": {"train": 60, "validation": 20, "test": 20},
    }
    assert study["grids"]["mes-donn-es"]["losses"] == ["infonce", "hn", "margin"]
    files = project.overlays([str(folder)])
    assert project.read(files, project.home(files))["study"] == "mes-donn-es"
    assert "hnclip run 'mes données'" in done.stdout and "3 trainings" in done.stdout
    assert "'file_name'" in done.stderr and "a toy" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["captions.csv", "photos", "study.yaml"]


def test_json_is_one_document(folder):
    done = init(folder, "--split", "60/20/20", "--seeds", "1", "--json")
    told = json.loads(done.stdout)
    assert (told["study"], told["trainings"]) == (str(folder / "study.yaml"), 2)
    assert sum(size["images"] for size in told["splits"].values()) == 30


def test_a_study_of_adapters_alone_has_no_recipe_that_theirs_would_overrule(folder):
    assert init(folder, "--split", "60/20/20", "--frameworks", "adapter").exit_code == 0
    assert "recipe" not in yaml.safe_load((folder / "study.yaml").read_text())


def test_a_study_that_is_there_is_not_replaced(folder):
    (folder / "study.yaml").write_text("mine")
    assert "is there already" in str(init(folder).exception)
    assert (folder / "study.yaml").read_text() == "mine"


def test_every_fault_is_named_and_nothing_written(folder):
    (folder / "photos/3.png").unlink()
    (folder / "photos/7.png").write_bytes(b"no picture")
    said = str(init(folder).exception)
    assert "3.png" in said and "7.png" in said
    assert not (folder / "study.yaml").exists()


def test_swapped_columns_are_asked_about(folder):
    rows = [f"{'long ' * 60}{number},photos/{number}.png" for number in range(30)]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]))
    said = str(init(folder, "--split", "60/20/20").exception)
    assert "are the columns swapped?" in said and "line 2: the caption is 'photos/0.png'" in said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--split", "50/20"), "80/10/10"),
        (("--model", "nope"), "there is no model"),
        (("--frameworks", "longclp"), "longclip"),
        (("--losses", "hnn"), "unknown loss 'hnn'"),
        (("--seeds", "one"), "whole numbers"),
        (("--name", "data"), "choose another name"),
        (("--caption-column", "txet"), "text"),
    ],
)
def test_wrong_choices_are_told(folder, option, said):
    done = init(folder, "--split", "60/20/20", *option) if option[0] != "--split" else init(folder, *option)
    assert done.exit_code == 1 and said in str(done.exception)
    assert not (folder / "study.yaml").exists() and not (folder / ".study.yaml.part").exists()


def test_a_column_of_splits_is_found_and_names_of_benchmarks_are_kept_apart(folder):
    rows = (folder / "captions.csv").read_text().splitlines()
    splits = ["split", *(("train", "val", "test")[number // 2 % 3] for number in range(60))]
    (folder / "captions.csv").write_text("\n".join(f"{row},{split}" for row, split in zip(rows, splits, strict=True)))
    done = init(folder, "--name", "scenes", "--frameworks", "goal")
    assert done.exit_code == 0, done.exception
    study = yaml.safe_load((folder / "study.yaml").read_text())
    entry = study["benchmarks"]["my-scenes"]
    assert (entry["validation"], entry["test"], entry["segments"]) == ("val", ["test"], "felzenszwalb")
    assert entry["options"]["split_column"] == "split"


def test_splits_that_the_study_leaves_alone_are_told_with_what_uses_them(folder):
    rows = (folder / "captions.csv").read_text().splitlines()
    splits = ["split", *(("train", "val", "test", "restval")[number // 2 % 4] for number in range(60))]
    (folder / "captions.csv").write_text("\n".join(f"{row},{split}" for row, split in zip(rows, splits, strict=True)))
    said = init(folder).stderr
    assert "Not used: restval (7 images)" in said and "`merge_splits: {restval: train}`" in said


@pytest.mark.slow
def test_a_study_beside_the_data_names_it_whole(folder, tmp_path):
    done = init(tmp_path / "study", "--captions", folder / "captions.csv", "--split", "60/20/20")
    assert done.exit_code == 0, done.exception
    options = yaml.safe_load((tmp_path / "study/study.yaml").read_text())["benchmarks"]["study"]["options"]
    assert (options["captions"], options["images"]) == (str(folder / "captions.csv"), str(folder / "photos"))


def test_a_folder_without_captions_is_left_as_it_was(tmp_path):
    assert "--captions" in str(init(tmp_path / "new").exception)
    assert not (tmp_path / "new").exists()
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("image,caption\n")
    assert "a.csv, b.csv" in str(init(tmp_path).exception)


@pytest.mark.slow
def test_results_may_not_land_among_the_captions(folder):
    (folder / "captions.csv").unlink()
    for number in range(30):
        (folder / "photos" / f"{number}.txt").write_text(f"Colour {number}")
    said = str(init(folder / "photos/study", "--captions", folder / "photos").exception)
    assert "hnclip init photos-study" in said
    done = init(folder, "--captions", folder / "photos", "--split", "60/20/20")
    assert done.exit_code == 0, done.exception


def test_embeddings_become_a_study_of_the_adapter(tmp_path):
    rows = [{"id": f"{n}", "image": [1.0, n], "text": [1.0, -n], "caption": f"number {n}"} for n in range(30)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "mine.parquet")
    done = init(tmp_path / "study", "--embeddings", tmp_path / "mine.parquet", "--split", "60/20/20")
    assert done.exit_code == 0, done.exception
    study = yaml.safe_load((tmp_path / "study/study.yaml").read_text())
    assert study["backbones"]["embedded"] == {"kind": "embeddings", "file": str(tmp_path / "mine.parquet")}
    assert study["grids"]["study"]["frameworks"] == ["adapter"] and "recipe" not in study
    assert study["benchmarks"]["study"]["options"]["caption_column"] == "caption"


@pytest.mark.slow
def test_a_pretrained_model_brings_its_entry_and_the_papers_recipe(folder):
    done = init(folder, "--model", "ViT-B-32:openai", "--frameworks", "lora", "--split", "60/20/20")
    assert done.exit_code == 0, done.exception
    study = yaml.safe_load((folder / "study.yaml").read_text())
    assert study["backbones"]["ViT-B-32-openai"]["pretrained"] == "openai"
    assert study["recipe"]["lr"] == 2e-6 and study["frameworks"]["lora"]["recipe"]["lr"] == 5e-5
    assert "a toy" not in json.dumps(study) and "toy" not in done.stderr


def test_names_that_yaml_reads_as_numbers_or_truths_stay_names():
    entry = {"kind": "folder", "train": "train", "test": ["test"], "options": {"captions": "no"}}
    wanted = Wanted("2024", "no", entry, "0x10", {"kind": "starter"}, ["longclip"], ["hn"], [42])
    text = study_text(wanted, "hnclip run 'a\nrun: [b]'")
    study = yaml.safe_load(text)
    assert (study["study"], study["run"], list(study["backbones"])) == ("2024", ["2024"], ["0x10"])
    assert study["grids"]["2024"]["train"] == ["no"] and study["benchmarks"]["no"]["options"] == {"captions": "no"}
