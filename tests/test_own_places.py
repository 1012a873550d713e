"""A study whose captions are a folder of texts or shards: prepared by the workflow, and again when they change."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "data"))

from formats import mine, png, put_images, webdataset_folder  # noqa: E402

from hnclip.check import check  # noqa: E402
from hnclip.data.manifest import read_manifest  # noqa: E402

WANTED = "results/data/own/train.parquet"


def overlay(home: Path, captions: str) -> Path:
    config = yaml.safe_load((ROOT / "workflow/studies/own_data.yaml").read_text(encoding="utf-8"))
    options = {"captions": captions, "split_hash": {"train": 34, "validation": 33, "test": 33}}
    config["benchmarks"]["own"]["options"] = options
    shutil.copy(ROOT / "config.yaml", home)
    (home / "own.yaml").write_text(yaml.safe_dump(config))
    return home / "own.yaml"


def snakemake(home: Path, *options: str) -> str:
    command = [sys.executable, "-m", "snakemake", WANTED, "-s", ROOT / "Snakefile", "--directory", home, "--cores", "1"]
    command += ["--configfile", home / "own.yaml", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def prepared(home: Path) -> Path:
    return home / "results/data/own"


def data(count: int):
    made = mine()
    made.images = {f"{number}.png": png(number) for number in range(count)}
    made.captions = {name: [f"Thing {name}"] for name in made.images}
    return made


@pytest.mark.slow
def test_a_folder_of_texts_is_prepared_again_when_a_text_changes(tmp_path):
    put_images(tmp_path / "mine", data(12))
    for name, (text,) in data(12).captions.items():
        (tmp_path / "mine" / name).with_suffix(".txt").write_text(text)
    overlay(tmp_path, "mine")
    assert "prepare_own" in snakemake(tmp_path)
    assert "Nothing to be done" in snakemake(tmp_path)
    (tmp_path / "mine" / "3.txt").write_text("Something else")
    snakemake(tmp_path)
    captions = [text for path in prepared(tmp_path).glob("*.parquet") for text in read_manifest(path).caption]
    assert "Something else" in captions and len(captions) == 12


@pytest.mark.slow
def test_shards_are_unpacked_beside_the_manifests(tmp_path):
    webdataset_folder(tmp_path, data(12))
    overlay(tmp_path, "set/mine-{000..001}.tar")
    snakemake(tmp_path)
    found = [(path, image) for path in prepared(tmp_path).glob("*.parquet") for image in read_manifest(path).image]
    assert len(found) == 12 and {Path(image).parent for _, image in found} == {prepared(tmp_path) / "images"}
    assert all(Path(image).is_file() for _, image in found)
    assert "Nothing to be done" in snakemake(tmp_path)


def test_shards_that_are_not_there_are_named(tmp_path):
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    overlay(tmp_path, "")
    given = yaml.safe_load((tmp_path / "own.yaml").read_text(encoding="utf-8"))
    for section, entries in given.items():
        config[section] = {**config[section], **entries} if isinstance(entries, dict) else entries
    for captions, said in (
        (str(tmp_path / "a-{0..1}.tar"), f"no such file: {tmp_path}/a-0.tar, {tmp_path}/a-1.tar (looked in"),
        (str(tmp_path / "none"), f"there is no file {tmp_path}/none"),
        (str(tmp_path / "one.tar"), f"no such file: {tmp_path}/one.tar"),
    ):
        config["benchmarks"]["own"]["options"]["captions"] = captions
        with pytest.raises(ValueError) as caught:
            check(config, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()))
        assert said in str(caught.value)
