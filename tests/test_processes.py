"""Several processes on one batch: the gradients, terms and ranks of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
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
    assert one.keys() == several.keys() and len(one) > 90
    far = {key: distance(one[key], several[key]) for key in one if not key.endswith("ranks")}
    assert {key: value for key, value in far.items() if value > CLOSE} == {}


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_ranks_are_the_same_for_any_number_of_processes(computed, world):
    for kind in names():
        one, several = computed[1][f"{kind} ranks"], computed[world][f"{kind} ranks"]
        assert torch.equal(one["ranks"], several["ranks"])
        assert torch.equal(several["of all processes"], world * several["ranks"])


@pytest.mark.slow
def test_chunks_and_tiles_have_the_gradient_of_the_whole(computed):
    one = computed[1]
    parts = [key for key in one if "chunk=2" in key or "tile=3" in key]
    assert len(parts) > 45
    for key in parts:
        whole = key.replace("chunk=2", "chunk=None").replace("tile=3", "tile=None")
        assert distance(one[whole], one[key]) < CLOSE, key
