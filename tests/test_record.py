"""What a run is said to be made with."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hnclip import record


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a source file and a document, each in a commit of its own; `record` believes it lives there."""

    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    (tmp_path / "src" / "report").mkdir(parents=True)
    git("init")
    for name in ("src/record.py", "src/report/tables.py", "README.md"):
        (tmp_path / name).write_text("x")
        git("add", name)
        git("commit", "-m", name)
    monkeypatch.setattr(record, "__file__", str(tmp_path / "src" / "record.py"))
    return tmp_path, git


def test_the_commit_is_the_last_that_touched_the_training_code(repository):
    folder, git = repository
    of_code = git("log", "-1", "--format=%H", "--", "src/record.py").strip()
    assert record.commit() == (of_code, False)
    (folder / "README.md").write_text("y")
    (folder / "src" / "report" / "tables.py").write_text("y")
    assert record.commit() == (of_code, False)
    (folder / "src" / "record.py").write_text("y")
    assert record.commit() == (of_code, True)


def test_a_new_file_of_code_is_no_part_of_the_commit(repository):
    folder, git = repository
    (folder / "src" / "notes.txt").write_text("x")
    assert record.commit()[1] is False
    (folder / "src" / "frameworks").mkdir()
    (folder / "src" / "frameworks" / "mine.py").write_text("x")
    assert record.commit()[1] is True


def test_outside_a_repository_it_is_the_release(repository):
    shutil.rmtree(Path(repository[0]) / ".git")
    name, dirty = record.commit()
    assert name.startswith("release ") and not dirty
