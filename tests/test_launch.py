"""Commands through the launcher: GPUs, several processes, signals and exit status."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hnclip import launch
from hnclip.launch import Processes, command, wanted

SOURCE = Path(launch.__file__).parents[1]
# A process of a training: on SIGTERM it writes what stands for a checkpoint, which takes a moment.
WORKER = """
import os, signal, sys, time
from pathlib import Path
rank = os.environ.get("RANK", "0")
def stop(*_):
    time.sleep(0.3)
    Path(f"saved{rank}").touch()
    raise SystemExit(3)
signal.signal(signal.SIGTERM, stop)
if sys.argv[1] == "end":
    Path(f"ended{rank}").write_text(f"{os.environ['WORLD_SIZE']} {os.environ['OMP_NUM_THREADS']}")
    raise SystemExit(0)
Path(f"begun{rank}").touch()
if sys.argv[1] == "fail" and rank == "1":
    raise SystemExit(7)
time.sleep(60)
"""


def outside_slurm(**further: str) -> dict[str, str]:
    ours = ("SLURM_", "CUDA_", "TORCH_ELASTIC", "RANK", "WORLD_SIZE")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(ours)}, **further}


@pytest.fixture
def start(tmp_path):
    """Starts the worker in a number of processes, as the launcher does it, and ends what is left."""
    (tmp_path / "worker.py").write_text(WORKER)
    started: list[subprocess.Popen] = []

    def start(what: str, gpus: int) -> subprocess.Popen:
        environ = outside_slurm(PYTHONPATH=f"{SOURCE}{os.pathsep}{tmp_path}", CUDA_VISIBLE_DEVICES="")
        line = command("worker", [what], Processes(gpus, threads=2), environ)
        started.append(subprocess.Popen(line, cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def wait_for(*paths: Path) -> None:
    end = time.monotonic() + 60
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, [path for path in paths if not path.exists()]
        time.sleep(0.02)


def launched(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    (folder / "worker.py").write_text(WORKER)
    line = [sys.executable, "-m", "hnclip.launch", *arguments]
    environ = outside_slurm(PYTHONPATH=f"{SOURCE}{os.pathsep}{folder}", CUDA_VISIBLE_DEVICES="", **environment)
    return subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True)


def recipe(folder: Path, **entries) -> list[str]:
    path = folder / "config.json"
    path.write_text(json.dumps({"recipe": {"threads": 3, **entries}}))
    return [str(path), str(folder)]


def test_every_rule_that_asks_for_a_gpu_goes_through_the_launcher():
    text = "\n".join(path.read_text() for path in sorted((SOURCE.parent / "rules").glob("*.smk")))
    rules = [rule for rule in re.split(r"^rule ", text, flags=re.MULTILINE) if "gpu=" in rule]
    launched = [rule.partition(":")[0] for rule in rules if '"exec python -m hnclip.launch hnclip.' in rule]
    assert launched == [rule.partition(":")[0] for rule in rules] and "train" in launched


def test_the_recipe_says_how_many_processes(tmp_path):
    assert wanted("hnclip.train", recipe(tmp_path)) == Processes(1, 1, 3)
    assert wanted("hnclip.train", recipe(tmp_path, gpus=2, nodes=4)) == Processes(2, 4, 3)
    assert wanted("hnclip.evaluate", recipe(tmp_path, gpus=2)) == Processes()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"recipe": []}', '{"recipe": {"gpus": "2"}}', '{"recipe": {"gpus": 0}}']
)
def test_a_config_at_fault_is_left_to_the_trainer(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    assert wanted("hnclip.train", [str(tmp_path / "config.json")]) == Processes()
    assert wanted("hnclip.train", ["absent"]) == wanted("hnclip.train", []) == Processes()


def test_one_process_takes_the_launchers_place(tmp_path):
    environ = {"CUDA_VISIBLE_DEVICES": ""}
    assert command("hnclip.embed", ["a b"], Processes(), environ) == [sys.executable, "-m", "hnclip.embed", "a b"]
    assert environ == {"CUDA_VISIBLE_DEVICES": ""}
    done = launched(tmp_path, "worker", "fail", RANK="1")
    assert done.returncode == 7 and (tmp_path / "begun1").exists()


def test_a_signal_reaches_the_command(start, tmp_path):
    process = start("wait", 1)
    wait_for(tmp_path / "begun0")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3 and (tmp_path / "saved0").exists()


def test_what_is_no_module_is_refused(tmp_path):
    done = launched(tmp_path, "--help")
    assert done.returncode == 1 and "error: expected a module and its arguments" in done.stderr
    assert "No module named hnclip.trian" in launched(tmp_path, "hnclip.trian", "a", "b").stderr


def test_a_process_that_torchrun_or_srun_started_starts_no_others():
    for environ in ({"RANK": "1", "WORLD_SIZE": "2"}, {"SLURM_JOB_ID": "5", "SLURM_STEP_NUM_TASKS": "4"}):
        before = dict(environ)
        assert command("hnclip.train", ["c", "f"], Processes(2, 2), environ)[1:] == ["-m", "hnclip.train", "c", "f"]
        assert environ == before


def test_one_process_among_the_tasks_of_a_job_is_alone_to_fabric(monkeypatch):
    from lightning_fabric.plugins.environments import SLURMEnvironment

    environ = {"SLURM_JOB_ID": "5", "SLURM_NTASKS": "4", "SLURM_JOB_NAME": "mine", "CUDA_VISIBLE_DEVICES": ""}
    command("hnclip.train", [], Processes(), environ)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", "")  # Fabric warns where there is an srun that was not used
    assert not SLURMEnvironment.detect()
    monkeypatch.setenv("SLURM_JOB_NAME", "mine")
    assert SLURMEnvironment.detect()


def test_several_machines_outside_slurm_are_an_error_that_says_what_to_do(tmp_path):
    done = launched(tmp_path, "hnclip.train", *recipe(tmp_path, gpus=2, nodes=3))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "`nodes: 3`, and this is no SLURM job" in done.stderr and "torchrun --nnodes=3" in done.stderr


def test_several_machines_are_a_step_of_their_own_in_the_job(tmp_path):
    (srun := tmp_path / "srun").write_text('#!/bin/sh\necho "$@"\nenv | grep SLURM_\nexit 5\n')
    srun.chmod(0o755)
    outer = {"SLURM_JOB_ID": "77", "SLURM_CONF": "c", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "1", "SLURM_NNODES": "1"}
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = launched(tmp_path, "hnclip.train", *recipe(tmp_path, gpus=2, nodes=3), PATH=path, **outer)
    options, *kept = done.stdout.splitlines()
    assert done.returncode == 5 and sorted(kept) == ["SLURM_CONF=c", "SLURM_JOB_ID=77"]
    assert "--overlap --nodes=3 --ntasks=6 --ntasks-per-node=2 --cpus-per-task=3 " in options
    assert options.endswith(f"-m hnclip.train {tmp_path / 'config.json'} {tmp_path}")


def test_torchrun_starts_the_launcher_again_in_each_process():
    environ = {"CUDA_VISIBLE_DEVICES": "4,6"}
    line = command("hnclip.train", ["c", "f"], Processes(2, threads=5), environ)
    assert line[1:3] == ["-m", "torch.distributed.run"] and "--nproc-per-node=2" in line
    assert line[-5:] == ["-m", "hnclip.launch", "hnclip.train", "c", "f"]
    assert environ["CUDA_VISIBLE_DEVICES"] == "4,6" and environ["OMP_NUM_THREADS"] == "5"


@pytest.mark.slow
def test_processes_know_their_number_and_threads(start, tmp_path):
    assert start("end", 2).wait(60) == 0
    assert [(tmp_path / f"ended{rank}").read_text() for rank in (0, 1)] == ["2 2", "2 2"]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_processes_have_time_for_a_checkpoint_when_the_launcher_is_ended(start, tmp_path, how):
    process = start("wait", 2)
    wait_for(tmp_path / "begun0", tmp_path / "begun1")
    process.send_signal(how)
    assert process.wait(60) != 0
    wait_for(tmp_path / "saved0", tmp_path / "saved1")


@pytest.mark.slow
def test_where_one_process_fails_the_others_end_too(start, tmp_path):
    assert start("fail", 2).wait(60) != 0
    wait_for(tmp_path / "saved0")
