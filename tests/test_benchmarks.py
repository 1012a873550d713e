"""The benchmarks run; what they measure is for docs/performance.md, not for a test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hnclip import frameworks

FOLDER = Path(__file__).parents[1] / "benchmarks"
SMALLEST = ["--pairs", "1", "--batch", "2"]
RUNS = [
    ("training_step.py", [], "open_clip / hnclip"),
    ("docci_step.py", [], "share of the bound"),
    ("jpeg_step.py", ["--photos", "2"], "from JPEGs / from the cache"),
    ("boosted_step.py", [], "boosted / plain"),
    ("boosted_loss.py", [], "boosted step / plain step"),
    ("framework_step.py", ["--frameworks", "goal", "structxlip"], "| structxlip |"),
    ("chunk.py", ["--chunk", "1"], "memory, activations recomputed / kept"),
    ("pixel_cache.py", ["--photos", "2", "--epoch", "8"], "decoding / reading the cache"),
    ("ranks.py", ["--rows", "300", "--largest", "1000"], "same ranks: True"),
    ("tiled_loss.py", ["--rows", "64", "--tile", "16", "--grow", "128"], "tiles / whole matrix"),
    ("plan_check.py", ["--frameworks", "goal", "lora"], "| lora |"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "more", "printed"), RUNS, ids=[run[0] for run in RUNS])
def test_a_benchmark_runs(name, more, printed):
    command = [sys.executable, name, *SMALLEST, *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, timeout=1800)
    assert done.returncode == 0 and printed in done.stdout, done.stderr


@pytest.mark.slow
def test_the_gap_from_which_a_gradient_is_zero_hangs_on_the_precision():
    done = subprocess.run([sys.executable, "zero_gradient.py"], capture_output=True, text=True, cwd=FOLDER, check=True)
    rows = {line[:16].strip(): line[16:].split() for line in done.stdout.splitlines()[1:]}
    assert float(rows["fp32"][1]) > 1 > 0.3 > float(rows["fp32, then fp16"][1]) > float(rows["fp32"][0]) - 0.01


@pytest.mark.slow
def test_the_benchmark_of_the_graph_runs():
    toy = ["--cells", "2", "4", "--finished", "2", "--run", "2", "--times", "1"]
    done = subprocess.run([sys.executable, "dag.py", *toy], capture_output=True, text=True, cwd=FOLDER)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows[3:] == ["nothing to do, cells-2", "dry run, 2 cells", "dry run, 4 cells"], done.stderr
    assert "4 / 2 cells = " in done.stdout and "ilp / greedy, 2 cells = " in done.stdout


@pytest.mark.slow
def test_the_script_for_a_gpu_measures_every_part_at_toy_size(tmp_path):
    command = [sys.executable, "accelerator.py", "--toy", "--json", str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, timeout=1800)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    names = {(cell["framework"], cell["precision"]) for cell in found["cells"]}
    assert names == {(name, precision) for name in frameworks.on_towers() for precision in ("bf16", "fp32")}
    assert all(cell["share_of_matrix_rate"] > 0 and cell["boosted_s"] > 0 for cell in found["cells"])
    assert len(found["losses"]) == 2 and found["chunk"]["time_ratio"] > 0 and found["ranks"]["ranks_s"] > 0
    assert not found["failed"] and not found["skipped"]
