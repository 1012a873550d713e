"""What `collect` gathers, and what it refuses to mix."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import hnclip
from hnclip import store
from hnclip.report.collect import collect
from hnclip.report.config_check import differences
from hnclip.report.load import read_study
from hnclip.report.notes import protocol_notes

DATA = {"manifests": {}, "downloads": {}, "near": {}, "choices": []}


def change_run(study_json: Path, loss: str, **changes) -> None:
    path = next(study_json.parent.glob(f"runs/**/{loss}/f100/s1/run.json"))
    store.write_json(path, store.read_json(path) | changes)


def ranks_file(study_json: Path, loss: str) -> Path:
    return next(study_json.parent.glob(f"runs/**/{loss}/f100/s1/ranks.parquet"))


def test_every_row_carries_its_cell(study):
    columns = ["backbone", "train", "framework", "loss", "fraction", "seed"]
    assert list(study.ranks.columns[:6]) == columns == list(study.epochs.columns[:6])
    zero_shot = study.ranks[study.ranks["framework"] == "zero_shot"]
    assert set(zero_shot["loss"]) == {"none"} and set(zero_shot["fraction"]) == {0} and set(zero_shot["train"]) == {""}
    assert len(zero_shot) == 2 * 2 * 64 and len(study.runs) == 12 + 4 + 3 + 3 + 6
    assert set(study.epochs["epoch"]) == {0, 1, 2, 3} and "scenes/validation" in set(study.epochs["target"])


def test_a_collected_rank_is_the_files_rank(study, study_json):
    file = pandas.read_parquet(ranks_file(study_json, "hn"))
    rows = study.ranks[(study.ranks["loss"] == "hn") & (study.ranks["seed"] == 1) & (study.ranks["fraction"] == 100)]
    rows = rows[rows["framework"] == ("hnclip" if "hnclip" in str(ranks_file(study_json, "hn")) else "longclip")]
    assert rows["rank"].tolist() == file["rank"].tolist() and rows["query"].tolist() == file["query"].tolist()


@pytest.mark.parametrize("change", [{"commit": "b" * 40}, {"dirty": True}, {"commit": None}])
def test_mixed_commits_are_refused_naming_the_cells_and_the_way_out(small_study, change):
    change_run(small_study, "hn", **change)
    with pytest.raises(ValueError) as caught:
        collect(small_study, small_study.parent / "tables")
    message = str(caught.value)
    assert "tiny/scenes/longclip/hn/f100/s1" in message and "tiny/scenes/longclip/infonce/f100/s1" in message
    assert "a" * 40 in message and "allow_mixed_commits" in message
    assert not (small_study.parent / "tables").exists()


def test_cells_trained_with_another_config_are_refused_naming_every_key_and_the_way_out(small_study):
    for loss, key in (("hn", "lr"), ("infonce", "batch")):
        trained = store.read_json(next(small_study.parent.glob(f"runs/**/{loss}/f100/s1/run.json")))["config"]
        trained["recipe"][key] *= 2
        trained["data"]["test"][1]["name"] = "scenes/other"
        change_run(small_study, loss, config=trained)
    with pytest.raises(ValueError) as caught:
        collect(small_study, small_study.parent / "tables")
    message = str(caught.value)
    for loss, words in (("hn", "recipe.lr: trained with 0.0002, the study says 0.0001"), ("infonce", "recipe.batch: ")):
        assert f"tiny/scenes/longclip/{loss}/f100/s1\n    {words}" in message
        assert f"  {small_study.parent}/runs/tiny/scenes/longclip/{loss}/f100/s1" in message.split("run again:")[1]
    assert message.count('data.test.1.name: trained with "scenes/other"') == 2 and message.count(": trained with ") == 4
    assert not (small_study.parent / "tables").exists()


def test_cells_of_two_files_under_one_name_of_published_weights_are_refused_with_the_way_out(small_study):
    change_run(small_study, "hn", published_weights={"ViT-B-16:openai": "1" * 64})
    collect(small_study, small_study.parent / "tables")
    change_run(small_study, "infonce", published_weights={"ViT-B-16:openai": "2" * 64})
    with pytest.raises(ValueError, match="published weights changed while the study ran") as caught:
        collect(small_study, small_study.parent / "tables")
    for loss, letter in (("hn", "1"), ("infonce", "2")):
        run = f"{small_study.parent}/runs/tiny/scenes/longclip/{loss}/f100/s1"
        assert f"  ViT-B-16:openai, SHA-256 {letter * 64}\n    {run}\n" in str(caught.value)
    assert "or name a local file" in str(caught.value)


def test_weights_that_were_fetched_before_those_of_the_trainings_are_refused(small_study):
    fetched = small_study.parents[1] / "embeddings" / "tiny" / "fetched.json"
    for loss in ("hn", "infonce"):
        change_run(small_study, loss, published_weights={"ViT-B-16:openai": "1" * 64})
    store.write_json(fetched, {"weights": "openai", "sha256": "1" * 64})
    collect(small_study, small_study.parent / "tables")
    store.write_json(fetched, {"weights": "openai", "sha256": "2" * 64})
    with pytest.raises(ValueError, match=f"SHA-256 {'2' * 64}\n    {fetched}\n"):
        collect(small_study, small_study.parent / "tables")


def test_a_run_record_without_its_config_is_refused(small_study):
    path = next(small_study.parent.glob("runs/**/hn/f100/s1/run.json"))
    record = store.read_json(path)
    store.write_json(path, {key: value for key, value in record.items() if key != "config"})
    with pytest.raises(ValueError, match=r"longclip/hn/f100/s1\n    its run.json holds no `config`") as caught:
        collect(small_study, small_study.parent / "tables")
    assert "infonce" not in str(caught.value)


def test_configs_are_compared_by_value():
    trained = {"a": {"lr": 1, "betas": (0.9, 1)}, "gone": None, "list": [1, 2]}
    said = {"a": {"lr": 1.0, "betas": [0.9, 1.0]}, "new": {"x": "y"}, "list": [1, 3]}
    assert differences(trained, trained | {"a": said["a"]}) == []
    assert differences(trained, said) == [
        ("new.x", "(absent)", '"y"'),
        ("list", "[1, 2]", "[1, 3]"),
        ("gone", "null", "(absent)"),
    ]


def test_mixed_commits_are_taken_where_the_config_allows(small_study):
    change_run(small_study, "hn", commit="b" * 40)
    record = store.read_json(small_study)
    store.write_json(small_study, record | {"config": record["config"] | {"allow_mixed_commits": True}})
    collect(small_study, small_study.parent / "tables")
    assert set(pandas.read_parquet(small_study.parent / "tables/runs.parquet")["commit"]) == {"a" * 40, "b" * 40}


def test_every_missing_file_is_named(small_study):
    lost = [ranks_file(small_study, "hn"), ranks_file(small_study, "infonce").with_name("run.json")]
    for path in lost:
        path.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        collect(small_study, small_study.parent / "tables")
    assert all(str(path) in str(caught.value) for path in lost)


def test_what_a_run_cost_is_collected(study):
    row = study.runs[study.runs["framework"] == "finelip"].iloc[0]
    assert (row["peak_memory_bytes"], row["baseline_memory_bytes"]) == (1200 * 2**20, 300 * 2**20)
    assert row["trained_parameters"] == 1500 and json.loads(row["inputs"])["crops"] == {"seconds": 30.5}
    assert set(study.runs.loc[study.runs["framework"] == "longclip", "inputs"]) == {"{}"}


def test_an_input_without_its_seconds_is_refused(small_study):
    change_run(small_study, "hn", inputs={"crops": {"rows": 3}, "first": {"seconds": 1.0}})
    with pytest.raises(ValueError, match=r"hn/f100/s1/run.json does not say .* took: crops; delete the folder"):
        collect(small_study, small_study.parent / "tables")


def test_a_broken_file_is_named(small_study):
    ranks_file(small_study, "hn").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        collect(small_study, small_study.parent / "tables")


def test_further_benchmarks_are_collected(small_study):
    record = store.read_json(small_study)
    record["config"]["benchmarks"]["other"] = {"train": "train", "validation": "validation", "test": ["test"]}
    for entry in record["cells"]:
        frame = pandas.read_parquet(f"{entry['run']}/ranks.parquet")
        frame = frame[frame["target"] == "scenes/test"].assign(target="other/test")
        entry["eval"] = [f"{entry['run']}/eval/other.parquet"]
        store.write_rows(Path(entry["eval"][0]), frame)
    store.write_json(small_study, record)
    collect(small_study, small_study.parent / "tables")
    ranks = pandas.read_parquet(small_study.parent / "tables/ranks.parquet")
    assert len(ranks[ranks["target"] == "other/test"]) == 2 * 2 * 8


def test_the_command_ends_with_one_message_and_loads_no_torch(tmp_path):
    store.write_json(
        tmp_path / "study.json", {"config": {}, "zero_shot": [], "cells": [{"run": "gone", "eval": []}]} | DATA
    )
    code = (
        "import sys, hnclip.report.figures, hnclip.report.tables, hnclip.report.summary, hnclip.report.collect as c;"
        "assert 'torch' not in sys.modules; from hnclip.command import run; run(c.main)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "study.json"), str(tmp_path / "tables")]
    source = str(Path(hnclip.__file__).parents[1])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source})
    assert done.returncode == 1 and done.stderr.startswith("error: missing files:\n  gone/run.json")
    assert "Traceback" not in done.stderr and json.loads((tmp_path / "study.json").read_text())["cells"]


def test_what_a_framework_warned_of_is_said_under_the_tables(small_study):
    change_run(small_study, "infonce", warnings=["the projection changes nothing"])
    collect(small_study, small_study.parent / "tables")
    notes = protocol_notes(read_study(small_study, small_study.parent / "tables"))
    assert notes.count("While longclip trained it was said: the projection changes nothing.") == 1


def test_captions_that_were_cut_are_said_under_the_tables(small_study):
    cut = {"scenes/train": [12, 96], "scenes/test": [0, 16]}
    for loss in ("infonce", "hn"):
        change_run(small_study, loss, captions_cut=cut)
    collect(small_study, small_study.parent / "tables")
    notes = " ".join(protocol_notes(read_study(small_study, small_study.parent / "tables")))
    assert "kept: scenes/train 12 of 96 (12.5%)." in notes and "scenes/test" not in notes
