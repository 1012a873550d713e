"""Trainings on a cluster: over a time limit, and of several processes on one node and on two."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from slurm_world import Folder

pytestmark = pytest.mark.slurm
STUDY = Path(__file__).with_name("study.yaml")
TIME = "train:runtime=attempt if 'long' in wildcards.cell else 20"  # minutes


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Folder:
    """The study's cells trained on the cluster; beside them the long one, by itself and undisturbed."""
    made = Folder(tmp_path_factory.mktemp("training"))
    made.here([STUDY], "--until", "pixels", "tokens", "configure")
    free = {name: value for name, value in made.environment.items() if not name.startswith("SLURM_")}
    line = [sys.executable, "-m", "hnclip.train", run(made, "long") / "config.json", made.path / "undisturbed"]
    (made.path / "undisturbed").mkdir()
    alone = subprocess.Popen(line, cwd=made.path, env=free, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    made.cluster([STUDY], "--until", "train", "--retries", "6", "--set-resources", TIME)
    said, _ = alone.communicate()
    assert alone.returncode == 0, said
    return made


def run(folder: Folder, framework: str) -> Path:
    return folder.path / f"results/slurm/runs/tiny/pairs/{framework}/hn/f100/s42"


def log(folder: Folder, framework: str) -> str:
    return (folder.path / f"logs/train/slurm/tiny/pairs/{framework}/hn/f100/s42.log").read_text()


def test_over_a_time_limit_a_training_ends_with_the_weights_of_an_undisturbed_one(folder):
    assert "resumed at optimiser step" in log(folder, "long")
    stopped = load_file(run(folder, "long") / "weights.safetensors")
    undisturbed = load_file(folder.path / "undisturbed/weights.safetensors")
    assert stopped.keys() == undisturbed.keys()
    assert all(np.array_equal(stopped[name], undisturbed[name]) for name in stopped)
    losses = [
        pd.read_parquet(path / "log.parquet")["loss"] for path in (run(folder, "long"), folder.path / "undisturbed")
    ]
    pd.testing.assert_series_equal(*losses, check_exact=True)


@pytest.mark.parametrize("framework", ["processes", "nodes"])
def test_two_processes_train_as_one_does(folder, framework):
    one, two = (compared(load_file(run(folder, name) / "weights.safetensors")) for name in ("one", framework))
    assert one.keys() == two.keys()
    assert max(np.abs(one[name] - two[name]).max() for name in one) <= 1e-6
    losses = [pd.read_parquet(run(folder, name) / "log.parquet")["loss"] for name in ("one", framework)]
    pd.testing.assert_series_equal(*losses, rtol=1e-6)


def compared(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights without the biases of keys: attention does not depend on them, and of a gradient that is rounding
    alone AdamW makes a step like any other."""
    kept = dict(weights)
    for name in weights:
        if name.endswith("in_proj_bias"):
            query, _, value = np.split(weights[name], 3)
            kept[name] = np.concatenate([query, value])
    return kept
