"""These tests need a SLURM: `make test-slurm` starts one on this machine and runs them."""

import os

import pytest


@pytest.fixture(autouse=True)
def cluster():
    if "SLURM_CONF" not in os.environ:
        pytest.fail("no SLURM is up: run `make test-slurm`")
