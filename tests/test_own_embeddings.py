"""A study of losses on embeddings that a person has from any model, run as they would: no pictures, no towers."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

ROOT = Path(__file__).parents[1]
IMAGES, WIDTH = 80, 16
STUDY = {
    "study": "own",
    "run": ["own"],
    "grids": {
        "own": {
            "backbones": ["own"],
            "train": ["own"],
            "frameworks": ["adapter"],
            "losses": ["infonce", "hn"],
            "fractions": [100],
            "seeds": [1],
            "embed": True,
        }
    },
    "backbones": {"own": {"kind": "embeddings", "file": "own.parquet"}},
    "benchmarks": {
        "own": {
            "kind": "embeddings",
            "train": "train",
            "validation": None,
            "test": ["test"],
            "options": {"file": "own.parquet", "split_hash": {"train": 60, "test": 40}},
        }
    },
    "frameworks": {"adapter": {"recipe": {"epochs": 100, "lr": 0.03}}},
    "report": {"bootstrap": 50},
}


def snakemake(home: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--directory", home, "--cores", "2"]
    command += ["--configfile", ROOT / "config.yaml", home / "study.yaml", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(WIDTH, WIDTH), (WIDTH, WIDTH - 4)])
def test_a_file_of_embeddings_becomes_a_study(tmp_path, widths):
    random = np.random.default_rng(1)
    image_ID = random.normal(size=(IMAGES, widths[0]))
    text_ID = image_ID @ np.linalg.qr(random.normal(size=(widths[0], widths[0])))[0][:, : widths[1]]
    names = [f"image-{number}" for number in range(IMAGES)]
    table = pa.table({"id": names, "image": list(image_ID), "text": list(text_ID)})
    parquet.write_table(table, tmp_path / "own.parquet")
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    done = snakemake(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    main = (tmp_path / "results/own/tables/main.md").read_text(encoding="utf-8")
    zero, plain = (next(line for line in main.splitlines() if words in line) for words in ("zero-shot", "| plain |"))
    recall = [float(line.split("|")[-2].split("[")[0]) for line in (zero, plain)]
    assert recall[0] < 30 < recall[1]  # texts are turned images: a linear map finds the turn
    assert "How many captions of own/test" in main
    again = snakemake(tmp_path, "--dry-run")
    assert "Nothing to be done" in again.stdout
