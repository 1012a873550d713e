"""How a command ends when its input is at fault."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hnclip.command import run

SOURCE = Path(__file__).parents[1] / "src"


def fail(error: Exception):
    def main() -> None:
        raise error

    return main


@pytest.mark.parametrize("error", [ValueError("no column 'capton'"), FileNotFoundError("no file é.csv")])
def test_a_users_fault_is_one_line_and_status_1(error, capsys, monkeypatch):
    monkeypatch.delenv("HNCLIP_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as end:
        run(fail(error))
    assert end.value.code == 1
    assert capsys.readouterr().err == f"error: {error}\n"


def test_an_error_of_the_system_is_told_by_the_file(capsys):
    with pytest.raises(SystemExit):
        run(fail(PermissionError(13, "Permission denied", "a/b.csv")))
    assert capsys.readouterr().err == "error: a/b.csv: Permission denied\n"


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(KeyError):
        run(fail(KeyError("x")))


def test_a_traceback_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("HNCLIP_TRACEBACK", "1")
    with pytest.raises(ValueError, match="x"):
        run(fail(ValueError("x")))


def printing(words: str, stdout, unbuffered: bool, closed: bool = False):
    """A command that prints some words: what came of it."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1" if unbuffered else ""}
    code = f"import sys\nfrom hnclip.command import run\nrun(lambda: {words})"
    command = [sys.executable, "-c", code]
    shell = ["sh", "-c", 'exec "$@" >&-', "sh"] if closed else []
    return subprocess.run([*shell, *command], stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.fixture
def unread():
    """The end of a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("unbuffered", [True, False])
@pytest.mark.parametrize("length", [1, 100_000])
def test_output_that_nobody_reads_ends_the_command_in_silence(unread, unbuffered, length):
    done = printing(f"print('x' * {length})", unread, unbuffered)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_broken_pipe_that_is_not_the_output_is_told():
    done = printing("(_ for _ in ()).throw(BrokenPipeError(32, 'of another'))", subprocess.DEVNULL, False)
    assert (done.returncode, done.stderr) == (1, "error: [Errno 32] of another\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_full_disk_behind_the_output_is_one_line(unbuffered):
    with open("/dev/full", "w") as full:
        done = printing("print('x')", full, unbuffered)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and len(done.stderr.splitlines()) == 1


def test_a_closed_output_gives_its_number_to_no_file():
    done = printing("print('lost') or print(open('/dev/null').fileno(), file=sys.stderr)", None, False, closed=True)
    assert done.returncode == 0 and int(done.stderr) > 2


def test_a_command_without_its_file_says_so(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "hnclip.study", str(tmp_path / "no.json"), str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "no.json" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()
