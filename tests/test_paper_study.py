"""The paper's study: planned by a dry run, and shrunk to a handful of pairs, from archives to tables and figures."""

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pandas as pd
import paper_world
import pytest
import yaml

from hnclip import cell as cells
from hnclip.plan.config import read

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "workflow" / "studies" / "paper.yaml"


def snakemake(folder: Path, *options, cores: int = 2) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--directory", folder, "--configfile"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, *options, "--cores", str(cores)], capture_output=True, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("overlay", [[], ["paper-128"], ["paper_b16"], ["paper-controls"]])
def test_a_dry_run_plans_the_study_without_data_or_gpu(tmp_path, overlay):
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    paths = [PAPER, *(PAPER.with_name(f"{name}.yaml") for name in overlay)]
    done = snakemake(tmp_path, *paths, "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {words[0]: words[1] for line in done.stdout.splitlines() if len(words := line.split()) == 2}
    assert int(counts["train"]) == len(cells.trained(read(paths, ROOT / "config.yaml")))
    if not overlay:
        assert f" {counts['total']} jobs" in (ROOT / "docs" / "paper_study.md").read_text(encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture
def shrunk(tmp_path, monkeypatch):
    """A folder with the shrunk study's overlay; its archives are served over HTTP."""
    served, study = tmp_path / "served", tmp_path / "study"
    study.mkdir()
    (study / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    paper_world.write_archives(served, monkeypatch)
    paper_world.write_longclip(served / "longclip-L.pt")
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=served))
    Thread(target=http.serve_forever, daemon=True).start()
    overlay = paper_world.overlay(served, f"http://127.0.0.1:{http.server_port}")
    (study / "shrunk.yaml").write_text(yaml.safe_dump(overlay))
    yield study
    http.shutdown()
    http.server_close()


@pytest.mark.slow
def test_the_shrunk_study_runs_from_archives_to_tables(shrunk):
    done = snakemake(shrunk, PAPER, shrunk / "shrunk.yaml")
    assert done.returncode == 0, failures(shrunk, done)
    config = read([PAPER, shrunk / "shrunk.yaml"], ROOT / "config.yaml")
    ranks = pd.read_parquet(shrunk / "results/shrunk/tables/ranks.parquet")
    told = {tuple(row) for row in ranks[["framework", "train"]].dropna().itertuples(index=False)}
    assert told >= {(cell.framework, cell.train) for cell in cells.grid(config)}
    assert (shrunk / "results/shrunk/figures/fractions.pdf").stat().st_size > 0
    again = snakemake(shrunk, PAPER, shrunk / "shrunk.yaml", "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr


def failures(folder: Path, done: subprocess.CompletedProcess) -> str:
    """What Snakemake said, and the logs of the jobs that failed."""
    names = {line.split()[1] for line in done.stderr.splitlines() if line.strip().startswith("log: ")}
    return done.stderr[-4000:] + "".join(f"\n{name}:\n{(folder / name).read_text()[-2000:]}" for name in sorted(names))
