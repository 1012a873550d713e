"""Claims: one of several processes builds a thing at a time."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hnclip import claim
from hnclip.claim import claimed

SOURCE = Path(claim.__file__).parents[1]
# Each process reads a number, waits, and writes the next one: without a claim, numbers are lost.
COUNT = """
import sys, time
from pathlib import Path
from hnclip.claim import claimed
for _ in range(10):
    with claimed(Path("folder") / "thing"):
        path = Path("count")
        number = int(path.read_text()) if path.exists() else 0
        time.sleep(0.002)
        path.write_text(str(number + 1))
"""
HOLD = """
import sys
from hnclip.claim import claimed
with claimed("thing"):
    print("held", flush=True)
    sys.stdin.read()
"""


def start(code: str, folder: Path, **pipes) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, **pipes
    )


def test_one_process_at_a_time_and_nothing_is_left(tmp_path):
    processes = [start(COUNT, tmp_path) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert (tmp_path / "count").read_text() == "40"
    assert list((tmp_path / "folder").iterdir()) == []
    for process in processes:
        process.communicate()


def test_who_waits_says_for_whom_and_goes_on_when_that_one_is_killed(tmp_path):
    first = start(HOLD, tmp_path, stdin=subprocess.PIPE)
    assert first.stdout.readline() == "held\n"
    second = start(HOLD, tmp_path, stdin=subprocess.PIPE)
    said = second.stdout.readline()
    assert f"thing: waiting for process {first.pid} on {os.uname().nodename}, since 20" in said
    first.kill()
    first.communicate()
    assert second.stdout.readline() == "held\n"
    assert f"process {second.pid} " in (tmp_path / ".thing.claim").read_text()
    second.communicate("")
    assert not (tmp_path / ".thing.claim").exists()


def test_what_fails_inside_frees_the_claim(tmp_path):
    with pytest.raises(RuntimeError), claimed(tmp_path / "thing"):
        raise RuntimeError
    with claimed(tmp_path / "thing"):
        assert claim.try_lock(tmp_path / ".thing.claim") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_named_and_used(tmp_path, monkeypatch, capsys):
    def refuse(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with claimed(tmp_path / "thing"):
        assert "no lock can be had here (No locks available)" in capsys.readouterr().out
