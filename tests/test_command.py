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


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(KeyError):
        run(fail(KeyError("x")))


def test_a_traceback_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("HNCLIP_TRACEBACK", "1")
    with pytest.raises(ValueError, match="x"):
        run(fail(ValueError("x")))


def test_a_command_without_its_file_says_so(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "hnclip.study", str(tmp_path / "no.json"), str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "no.json" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()
