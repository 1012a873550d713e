"""Which profile and executor a command line names, and what Snakemake says of a profile."""

import os
import subprocess
import sys

import pytest
from dag_world import ROOT

from hnclip.profiles import chosen, on_cluster

SMOKE = "workflow/studies/smoke.yaml"


@pytest.mark.parametrize(
    ("line", "executor"),
    [
        ("", None),
        ("-np --cores 2", None),
        ("--workflow-profile none -n", None),
        ("--workflow-profile default", None),
        ("--workflow-profile slurm", "slurm"),
        ("--workflow-profile=profiles/slurm -n --configfile workflow/studies/paper.yaml", "slurm"),
        ("--workflow-profile profiles/slurm --executor local", "local"),
        ("-n -e slurm", "slurm"),
    ],
)
def test_the_executor_is_that_of_the_line_or_of_its_profile(line, executor):
    assert chosen(line.split(), ROOT) == executor


def test_a_profile_elsewhere_is_found(tmp_path):
    (tmp_path / "profile.yaml").write_text("executor: cluster-generic\n")
    assert chosen(["--workflow-profile", str(tmp_path)], ROOT) == "cluster-generic"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no profile.yaml"):
        chosen(["--workflow-profile", str(tmp_path / "empty")], ROOT)


@pytest.mark.parametrize(
    ("executor", "environment", "cluster"),
    [(None, {}, False), ("local", {}, False), ("slurm", {}, True), (None, {"SLURM_JOB_ID": "1"}, True)],
)
def test_jobs_run_elsewhere_where_the_executor_or_the_job_says_so(executor, environment, cluster):
    assert on_cluster(executor, environment) == cluster


def dry_run(*options: str, fails: bool = False) -> str:
    """What Snakemake says of a dry run in the repository's folder, where it writes nothing."""
    line = [sys.executable, "-m", "snakemake", "--nolock", "-n", "--verbose", "--forceall", *options]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PWD": str(ROOT)})
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr + done.stdout


def by_rule(said: str) -> dict[str, str]:
    """What it says of a job of each rule."""
    jobs = [part.split("\nrule ")[1] for part in said.split("\n[") if "\nrule " in part]
    return {part.split(":")[0]: part for part in jobs}


def test_a_mistyped_profile_stops_the_run():
    said = dry_run("--workflow-profile", "profiles/slrum", fails=True)
    assert "unknown profile 'profiles/slrum' (did you mean 'profiles/slurm'?); known:" in said


@pytest.mark.slow
def test_the_profile_for_slurm_is_read_and_asks_by_rule():
    said = dry_run("--workflow-profile", "profiles/slurm", "--configfile", SMOKE)
    assert "Using workflow specific profile profiles/slurm for setting default command line arguments" in said
    jobs = by_rule(said)
    on_gpu = {rule for rule, part in jobs.items() if "gpu=1" in part}
    assert on_gpu == {"train", "embed", "embed_cell", "evaluate", "audit", "segments"}
    assert "mem_mb=3070, " in jobs["train"] and "runtime=31," in jobs["train"] and "nodes=1" in jobs["train"]
    assert "mpi" not in jobs["train"]
    assert all("runtime=" in part for rule, part in jobs.items() if rule != "all")


@pytest.mark.slow
def test_a_cell_on_several_nodes_asks_for_its_tasks(tmp_path):
    overlay = tmp_path / "nodes.yaml"
    overlay.write_text("run: [smoke_frameworks]\nrecipe: {gpus: 2, nodes: 3, threads: 4}\n")
    train = by_rule(dry_run("--workflow-profile", "profiles/slurm", "--configfile", SMOKE, str(overlay)))["train"]
    for asked in ("gpu=6", "nodes=3", "mpi=srun", "tasks=6", "tasks_per_gpu=0", "cpus_per_task=4"):
        assert asked in train
    assert "slurm_extra=--ntasks-per-node=2 --gpus-per-node=2" in train
