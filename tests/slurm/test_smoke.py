"""The smoke study, every job of it that is not local on a cluster."""

from pathlib import Path

import pytest
from slurm_world import ROOT, Folder

pytestmark = pytest.mark.slurm
OVERLAYS = [ROOT / "workflow/studies/smoke.yaml", Path(__file__).with_name("smoke.yaml")]


def test_the_smoke_study_is_finished_and_then_has_nothing_to_do(tmp_path):
    folder = Folder(tmp_path)
    said = folder.cluster(OVERLAYS)
    assert f"Using workflow specific profile {ROOT / 'profiles/slurm'}" in said
    submitted = said.count("has been submitted with SLURM jobid")
    assert submitted > 30, said
    tables = folder.path / "results/smoke/tables"
    assert (tables / "main.csv").is_file() and (tables / "ranks.parquet").is_file()
    again = folder.cluster(OVERLAYS)
    assert "Nothing to be done" in again and "has been submitted" not in again
