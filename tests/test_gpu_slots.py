"""GPUs given to jobs by lock files: real processes, and an nvidia-smi that only says how many GPUs there are."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hnclip import gpu_slots

SOURCE = Path(gpu_slots.__file__).parents[1]
# A job that says what it was given, works until the file `go` is there, and says that it ended.
JOB = """
import os, sys, time
from pathlib import Path
def say(what):
    with open("said", "a") as file:
        file.write(f"{what} {os.environ.get('CUDA_VISIBLE_DEVICES')} {sys.argv[1]}\\n")
say("begins")
while not Path("go").exists():
    time.sleep(0.02)
time.sleep(0.05)
say("ends")
"""


class Machine:
    """A folder in which jobs run, on a machine with so many GPUs."""

    def __init__(self, folder: Path, gpus: int):
        self.folder = folder
        (folder / "job.py").write_text(JOB)
        (folder / "bin").mkdir()
        smi = folder / "bin" / "nvidia-smi"
        lines = "".join(f"echo 'GPU {n}: A GPU (UUID: GPU-{n})'\n" for n in range(gpus))
        smi.write_text(f"#!/bin/sh\n{lines}")
        smi.chmod(0o755)
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "CUDA_"))}
        self.environment = {**kept, "PATH": path, "TMPDIR": str(folder), "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}"}
        self.jobs: list[subprocess.Popen] = []

    def start(self, name: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "hnclip.launch", "job", name]
        environment = {**self.environment, **environment}
        job = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True)
        self.jobs.append(job)
        return job

    def said(self) -> list[list[str]]:
        """What jobs said so far: [begins or ends, GPUs, name]."""
        path = self.folder / "said"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def wait(self, count: int) -> list[list[str]]:
        """What was said, once it is `count` lines."""
        end = time.monotonic() + 60
        while len(said := self.said()) < count:
            assert time.monotonic() < end, said
            time.sleep(0.02)
        return said

    def go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def machine(tmp_path):
    made: list[Machine] = []

    def make(gpus: int) -> Machine:
        made.append(Machine(tmp_path, gpus))
        return made[-1]

    yield make
    for job in (job for one in made for job in one.jobs):
        job.kill()
        job.communicate()


def test_jobs_at_once_never_share_a_gpu_and_all_get_their_turn(machine):
    two = machine(2)
    jobs = [two.start(str(number)) for number in range(5)]
    assert {gpu for _, gpu, _ in two.wait(2)} == {"GPU-0", "GPU-1"}
    two.go()
    assert [job.wait(60) for job in jobs] == [0] * 5
    busy: set[str] = set()
    for what, gpu, _ in two.said():
        assert (gpu in busy) == (what == "ends"), two.said()
        busy ^= {gpu}
    assert sorted(name for what, _, name in two.said() if what == "ends") == list("01234")
    assert any("waiting" in job.stderr.read() for job in jobs)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_that_is_killed_frees_its_gpu(machine, how):
    two = machine(2)
    first, _ = two.start("first"), two.start("second")
    gpu = next(gpu for _, gpu, name in two.wait(2) if name == "first")
    third = two.start("third")
    assert f"process {first.pid} on " in third.stderr.readline()
    first.send_signal(how)
    assert first.wait(60) == -how
    assert two.wait(3)[2] == ["begins", gpu, "third"]


def test_the_only_gpu_and_no_gpu_are_nothing_to_choose(machine, tmp_path):
    one = machine(1)
    jobs = [one.start("a"), one.start("b"), one.start("c", CUDA_VISIBLE_DEVICES="7"), one.start("d", PATH="/nowhere")]
    assert sorted((name, gpu) for _, gpu, name in one.wait(4)) == [
        ("a", "None"),
        ("b", "None"),
        ("c", "7"),
        ("d", "None"),
    ]
    assert not list(tmp_path.glob("hnclip-gpus-*"))
    one.go()
    assert [job.wait(60) for job in jobs] == [0] * 4


def test_jobs_choose_among_the_gpus_that_somebody_allows(machine):
    four = machine(4)
    for name in "ab":
        four.start(name, CUDA_VISIBLE_DEVICES="1,3")
    assert {gpu for _, gpu, _ in four.wait(2)} == {"GPU-1", "GPU-3"}


def test_gpus_that_a_scheduler_gave_are_left_as_they_are(monkeypatch):
    monkeypatch.setattr(gpu_slots, "installed", lambda: pytest.fail("nobody has to look"))
    for visible in ("", "0", "GPU-5", "-1", "NoDevFiles"):
        assert gpu_slots.allowed(visible, 1) == []
    assert gpu_slots.allowed("2,3", 2) == [] and gpu_slots.allowed("", 2) == []
    with pytest.raises(ValueError, match="needs 2 GPUs, and CUDA_VISIBLE_DEVICES=3 has 1"):
        gpu_slots.allowed("3", 2)


def test_more_gpus_than_there_are_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(gpu_slots, "installed", lambda: ["GPU-a", "GPU-b"])
    assert gpu_slots.allowed(None, 2) == gpu_slots.allowed(None, 1) == ["GPU-a", "GPU-b"]
    with pytest.raises(ValueError, match="needs 4 GPUs, and this machine has 2: set `gpus: 2`"):
        gpu_slots.allowed(None, 4)
    monkeypatch.setattr(gpu_slots, "installed", list)
    assert gpu_slots.allowed(None, 4) == []  # processes on the CPU


def test_the_parts_of_a_divided_gpu_stand_for_it():
    text = (
        "GPU 0: H100 (UUID: GPU-aa)\n  MIG 3g.40gb     Device  0: (UUID: MIG-1)\n"
        "  MIG 3g.40gb     Device  1: (UUID: MIG-2)\nGPU 1: H100 (UUID: GPU-bb)\n"
    )
    assert gpu_slots._listed(text) == ["MIG-1", "MIG-2", "GPU-bb"]


def test_a_driver_without_nvidia_smi_is_asked_by_its_files(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpu_slots, "DRIVER", tmp_path)
    assert gpu_slots.installed() == []
    for number in range(2):
        (tmp_path / f"0000:{number}").mkdir()
        (tmp_path / f"0000:{number}" / "information").write_text(f"Model: X\nGPU UUID:  GPU-0{number}\n")
    assert gpu_slots.installed() == ["GPU-00", "GPU-01"]


def test_a_folder_of_locks_that_is_somebody_elses_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / f"hnclip-gpus-{os.getuid()}"
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="is not a folder of yours"):
        gpu_slots.lock_folder()
    folder.unlink()
    assert gpu_slots.lock_folder().stat().st_mode & 0o777 == 0o700


def test_a_job_that_needs_several_gathers_them_before_later_ones(tmp_path):
    first = gpu_slots.try_lock(tmp_path / "GPU-0.lock")
    code = (
        "import sys; from pathlib import Path; from hnclip import gpu_slots as g; "
        f"print(g.take(['GPU-0', 'GPU-1'], int(sys.argv[1]), Path({str(tmp_path)!r})), flush=True); sys.stdin.read()"
    )

    def start(count: int) -> subprocess.Popen:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [sys.executable, "-c", code, str(count)], env={**os.environ, "PYTHONPATH": str(SOURCE)}, text=True, **pipes
        )

    many = start(2)
    assert "waiting for 1 of the GPUs" in many.stderr.readline()
    late = start(1)
    assert "waiting for GPUs behind process" in late.stderr.readline()
    os.close(first)
    assert many.stdout.readline() == "[0, 1]\n"
    many.communicate("")
    assert late.communicate("")[0] == "[0]\n"
