"""`hnclip run`: what a dry run would do, for scripts."""

import json

from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.run_workflow import Followed


def test_json_of_a_dry_run_counts_jobs(monkeypatch, tmp_path):
    jobs = {"1": "Preparing benchmark scenes", "2": "Training a", "3": "Training b", "4": "Config of a"}
    monkeypatch.setattr("hnclip.run_workflow.follow", lambda line, tell, every=None: Followed(jobs=jobs))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["run", "scenes", "--dry-run", "--json"])
    expected = [{"first": "Preparing benchmark scenes", "count": 1}, {"first": "Training a", "count": 2}]
    assert json.loads(done.stdout) == {"jobs": expected}
