"""Several processes on one batch: the gradients, terms and ranks of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from world import entry_of, make_cell

from hnclip.frameworks import names
from hnclip.processes import share

SCRIPT = Path(__file__).parent / "process_gradients.py"
CLOSE = 1e-12  # of the norm of all gradients of a batch, in float64


def test_shares_are_contiguous_even_and_complete():
    for rows in (0, 1, 2, 3, 7, 16, 21):
        for world in (1, 2, 3, 4):
            held = [share(rows, rank, world) for rank in range(world)]
            assert [row for each in held for row in range(rows)[each]] == list(range(rows))
            counts = [each.stop - each.start for each in held]
            assert max(counts) - min(counts) <= 1 and counts == sorted(counts, reverse=True)


@pytest.mark.slow
def test_processes_agree_where_they_differ(tmp_path):
    command = [sys.executable, str(SCRIPT.with_name("agreeing_processes.py"))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    both = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meet")], stdout=subprocess.PIPE, text=True, env=environment
        )
        for rank in range(2)
    ]
    assert [process.communicate(timeout=600)[0] for process in both] == ["done\n"] * 2


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """What 1, 2 and 4 processes computed, each from one start of torchrun over every framework and loss."""
    folder = tmp_path_factory.mktemp("processes")
    for kind in names():
        make_cell(folder / "cells" / kind, framework=entry_of(kind), recipe={"batch": 10, "scale_clamp": None})
    found = {}
    for world in (1, 2, 4):
        out = folder / f"{world}.pt"
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world), SCRIPT]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ran = subprocess.run(
            [sys.executable, *map(str, command), str(folder / "cells"), str(out)],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert ran.returncode == 0, ran.stderr[-4000:]
        found[world] = torch.load(out, weights_only=True)
        out.unlink()  # over 1 GB each
    return found


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    """The norm of the difference, as a share of the norm."""
    assert one.keys() == other.keys()
    difference = sum(float((one[name] - other[name]).double().square().sum()) for name in one)
    return (difference / sum(float(value.double().square().sum()) for value in one.values())) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_several_processes_have_the_gradients_of_one(computed, world):
    one, several = computed[1], computed[world]
    assert {key.removeprefix("fsdp ") for key in several} == one.keys() and len(one) > 90
    far = {key: distance(one[key.removeprefix("fsdp ")], several[key]) for key in several if "batch" in key}
    assert {key: value for key, value in far.items() if value > CLOSE} == {}
    assert sum(key.startswith("fsdp ") for key in far) > 50


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_ranks_are_the_same_for_any_number_of_processes(computed, world):
    for kind in names():
        for key in (f"{kind} ranks", f"fsdp {kind} ranks"):
            several = computed[world].get(key, computed[world][f"{kind} ranks"])
            assert torch.equal(computed[1][f"{kind} ranks"]["ranks"], several["ranks"])
            assert torch.equal(several["of all processes"], world * several["ranks"])


@pytest.mark.slow
def test_chunks_and_tiles_have_the_gradient_of_the_whole(computed):
    one = computed[1]
    parts = [key for key in one if "chunk=2" in key or "tile=3" in key]
    assert len(parts) > 45
    for key in parts:
        whole = key.replace("chunk=2", "chunk=None").replace("tile=3", "tile=None")
        assert distance(one[whole], one[key]) < CLOSE, key


@pytest.mark.slow
def test_processes_that_share_a_model_stop_in_time_and_go_on(tmp_path):
    """A stand-in for squeue says once that the job's time is nearly over."""
    recipe = {"gpus": 2, "strategy": "fsdp", "chunk": 2}
    (tmp_path / "bin").mkdir()
    squeue = tmp_path / "bin" / "squeue"
    squeue.write_text("#!/bin/sh\necho 0:02\n")
    squeue.chmod(0o755)
    ending = {"SLURM_JOB_ID": "7", "PATH": f"{squeue.parent}:{os.environ['PATH']}"}

    def launched(name: str, **more: str) -> subprocess.CompletedProcess:
        config = tmp_path / name / "run" / "config.json"
        if not config.exists():
            make_cell(tmp_path / name, recipe=recipe)
        command = [sys.executable, "-m", "hnclip.launch", "hnclip.train", str(config), str(config.parent)]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **more})

    assert launched("straight").returncode == 0
    stopped = launched("stopped", **ending)
    assert stopped.returncode != 0 and stopped.stdout.count("stopped after optimiser step 1: the job's time limit") == 1
    resumed = launched("stopped")
    assert resumed.returncode == 0 and "resumed at optimiser step 1" in resumed.stdout
    one, other = (load_file(tmp_path / name / "run" / "weights.safetensors") for name in ("straight", "stopped"))
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
