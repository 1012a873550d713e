"""Of which commit runs are said to be, and what is said of a study that would mix several."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hnclip import commits
from hnclip.cell import Cell, grid, run_folder
from hnclip.cell import trained as cells_trained


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with code and a document, each in a commit of its own; `commits` believes it lives there."""

    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    (tmp_path / "src" / "report").mkdir(parents=True)
    git("init")
    for name in ("src/commits.py", "src/report/tables.py", "README.md"):
        (tmp_path / name).write_text("x")
        git("add", name)
        git("commit", "-m", name)
    monkeypatch.setattr(commits, "__file__", str(tmp_path / "src" / "commits.py"))
    return tmp_path, git


def test_the_commit_is_the_last_that_touched_the_training_code(repository):
    folder, git = repository
    of_code = git("log", "-1", "--format=%H", "--", "src/commits.py").strip()
    assert commits.commit() == (of_code, False)
    (folder / "README.md").write_text("y")
    (folder / "src" / "report" / "tables.py").write_text("y")
    assert commits.commit() == (of_code, False)
    (folder / "src" / "commits.py").write_text("y")
    assert commits.commit() == (of_code, True)


def test_a_new_file_of_code_is_no_part_of_the_commit(repository):
    folder, git = repository
    (folder / "src" / "notes.txt").write_text("x")
    assert commits.commit()[1] is False
    (folder / "src" / "frameworks").mkdir()
    (folder / "src" / "frameworks" / "mine.py").write_text("x")
    assert commits.commit()[1] is True


def test_outside_a_repository_it_is_the_release(repository):
    shutil.rmtree(Path(repository[0]) / ".git")
    name, dirty = commits.commit()
    assert name.startswith("release ") and not dirty


HERE = ("b" * 40, False)


def study(root: Path, **trained: dict) -> dict:
    """A config of three losses, one of which tries two settings; `trained` has the records of runs by loss."""
    config = {
        "study": "some",
        "run": ["all"],
        "grids": {
            "all": {
                "backbones": ["tiny"],
                "train": ["scenes"],
                "frameworks": ["longclip"],
                "losses": ["plain", "hn", "tuned"],
                "fractions": [100],
                "seeds": [1],
            }
        },
        "losses": {
            "plain": {"base": "infonce", "boost": "none"},
            "hn": {"base": "infonce", "boost": "captions", "gamma": 0.5},
            "tuned": {"base": "infonce", "boost": "captions", "gamma": [0.1, 0.2]},
        },
        "tuning": {"seed": 7},
    }
    for loss, record in trained.items():
        folder = root / run_folder(config, cell_of(config, loss))
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(record if isinstance(record, str) else json.dumps(record))
    return config


def cell_of(config: dict, loss: str) -> Cell:
    """The cell of a loss; of `setting` the first that is trained to choose the tuned one's."""
    if loss == "setting":
        return min(cells_trained(config) - grid(config))
    return Cell("tiny", "scenes", "longclip", loss, 100, 1)


def left(config: dict, *losses: str) -> list[str]:
    return [str(cell_of(config, loss)) for loss in losses]


@pytest.fixture
def here(monkeypatch):
    """The code that would train is of this commit."""
    monkeypatch.setattr(commits, "commit", lambda: HERE)


def of(commit: str | None, dirty: bool = False) -> dict:
    return {"commit": commit, "dirty": dirty}


@pytest.mark.parametrize(
    "record",
    [of("a" * 40), of("b" * 40, dirty=True), of(None), of("release 0.1.0")],
    ids=["another commit", "uncommitted changes", "no commit", "a release"],
)
@pytest.mark.parametrize("loss", ["plain", "setting"])
def test_cells_left_to_train_beside_runs_of_another_state_are_named_with_the_ways_out(tmp_path, here, record, loss):
    config = study(tmp_path, **{loss: record})
    said = commits.would_mix(config, left(config, "hn"), tmp_path)
    trained, still = str(cell_of(config, loss)), f"{cell_of(config, 'hn')} (still to train)"
    state = (record["commit"] or "no commit") + (" with uncommitted changes" if record["dirty"] else "")
    assert said.splitlines()[1:3] == [f"  {state}: {trained}", f"  {'b' * 40}: {still}"]
    assert "allow_mixed_commits" in said and "run folders" in said and "check out" in said


@pytest.mark.parametrize(
    ("trained", "wanted"),
    [
        ({"plain": of(*HERE)}, ["hn"]),
        ({"plain": of("a" * 40), "hn": of("c" * 40)}, []),
        ({"plain": of("a" * 40)}, ["plain", "hn"]),
        ({"plain": "", "setting": "no JSON"}, ["hn"]),
        ({}, ["plain", "hn"]),
    ],
    ids=["the same", "nothing left", "all anew", "no record that can be read", "nothing there"],
)
def test_a_study_of_one_state_and_one_with_nothing_left_go_on(tmp_path, here, trained, wanted):
    config = study(tmp_path, **trained)
    assert commits.would_mix(config, left(config, *wanted), tmp_path) == ""


def test_a_config_may_allow_it_and_other_cells_runs_do_not_count(tmp_path, here):
    config = study(tmp_path, plain=of("a" * 40))
    assert commits.would_mix(config | {"allow_mixed_commits": True}, left(config, "hn"), tmp_path) == ""
    config["grids"]["all"]["losses"] = ["hn"]
    assert commits.would_mix(config, left(config, "hn"), tmp_path) == ""


def test_runs_that_are_mixed_already_are_told_with_what_is_left(tmp_path, here):
    config = study(tmp_path, plain=of("a" * 40), tuned=of(*HERE))
    said = commits.would_mix(config, left(config, "hn"), tmp_path).splitlines()
    assert said[2] == f"  {'b' * 40}: {cell_of(config, 'tuned')}, {cell_of(config, 'hn')} (still to train)"


def test_git_is_asked_only_where_there_is_something_to_compare(tmp_path, monkeypatch):
    monkeypatch.setattr(commits, "commit", lambda: pytest.fail("git was asked"))
    config = study(tmp_path, plain=of("a" * 40))
    assert commits.would_mix(config, [], tmp_path) == ""
    assert commits.would_mix(config, left(config, "plain"), tmp_path) == ""
