"""`hnclip run`: what a dry run would do, for scripts."""

import json
import os

import pytest
from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.commits import WOULD_STOP
from hnclip.run_workflow import Followed, foretold


def test_json_of_a_dry_run_counts_jobs(monkeypatch, tmp_path):
    jobs = {"1": "Preparing benchmark scenes", "2": "Training a", "3": "Training b", "4": "Config of a"}
    monkeypatch.setattr("hnclip.run_workflow.follow", lambda line, tell, every=None: Followed(jobs=jobs))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["run", "scenes", "--dry-run", "--json"])
    expected = [{"first": "Preparing benchmark scenes", "count": 1}, {"first": "Training a", "count": 2}]
    assert json.loads(done.stdout) == {"jobs": expected}


def test_a_dry_run_ends_with_what_the_run_would_stop_at(monkeypatch, tmp_path):
    found = Followed(jobs={"1": "Training a"}, tail=["This was a dry-run", WOULD_STOP, "two commits:", "  a, b", ""])
    monkeypatch.setattr("hnclip.run_workflow.follow", lambda line, tell, every=None: found)
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["run", "scenes", "--dry-run"]).stdout
    assert said.splitlines()[-4:] == ["  Training a", WOULD_STOP, "two commits:", "  a, b"]
    said = CliRunner().invoke(app, ["run", "scenes", "--dry-run", "--json"]).stdout
    assert json.loads(said)["stops"] == f"{WOULD_STOP}\ntwo commits:\n  a, b"


@pytest.mark.parametrize("command", [["run"], ["run", "--dry-run"], ["train"]])
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_runs(monkeypatch, tmp_path, command):
    def never(*line, **more):
        raise AssertionError("Snakemake was started")

    monkeypatch.setattr("hnclip.run_workflow.follow", never)
    monkeypatch.setattr("os.access", lambda place, mode: mode & os.W_OK == 0)
    monkeypatch.chdir(tmp_path)
    cell = ["tiny/scenes/longclip/hn/f100/s42"] if command == ["train"] else []
    done = CliRunner().invoke(app, [command[0], "scenes", *command[1:], *cell])
    assert isinstance(done.exception, PermissionError) and f"{tmp_path} cannot be written to" in str(done.exception)


def test_all_is_kept_of_what_a_run_would_stop_at():
    found = Followed()
    told = [f"  commit {number}: a cell" for number in range(100)]
    for text in ["a line"] * 100 + [WOULD_STOP, *told]:
        found.line(text)
    assert foretold(found).splitlines() == [WOULD_STOP, *told]
    assert len(found.tail) < 150


def test_a_folder_above_studies_names_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("quick", "full", "old/first", "much/too/deep"):
        (tmp_path / "real" / name).mkdir(parents=True)
        (tmp_path / "real" / name / "study.yaml").touch()
    said = str(CliRunner().invoke(app, ["run", "real", "empty"]).exception)
    below = ", ".join(f"real/{name}/study.yaml" for name in ("full", "old/first", "quick"))
    assert f"no study real (the folder has no study.yaml; below it are {below}), empty: give" in said
    for number in range(7):
        (tmp_path / "real" / f"a{number}").mkdir()
        (tmp_path / "real" / f"a{number}" / "study.yaml").touch()
    assert "real/a4/study.yaml and 5 more): give" in str(CliRunner().invoke(app, ["run", "real"]).exception)
