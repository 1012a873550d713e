"""The benchmarks run; what they measure is for docs/performance.md, not for a test."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SMALLEST = ["--pairs", "1", "--batch", "2"]
RUNS = [
    ("training_step.py", [], "open_clip / hnclip"),
    ("boosted_step.py", [], "boosted / plain"),
    ("boosted_loss.py", [], "boosted step / plain step"),
    ("framework_step.py", ["--frameworks", "goal", "structxlip"], "| structxlip |"),
    ("pixel_cache.py", ["--photos", "2", "--epoch", "8"], "decoding / reading the cache"),
    ("plan_check.py", ["--frameworks", "goal", "lora"], "| lora |"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "more", "printed"), RUNS, ids=[run[0] for run in RUNS])
def test_a_benchmark_runs(name, more, printed):
    command = [sys.executable, name, *SMALLEST, *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, timeout=900)
    assert done.returncode == 0 and printed in done.stdout, done.stderr
