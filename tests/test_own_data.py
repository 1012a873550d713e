"""The template for a folder of one's own images, run as a person would: to tables, figures and a report."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import yaml
from PIL import Image

from hnclip.data.scene import draw, random_scene
from hnclip.data.scene_words import dense_sentences

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

SMALLER = {
    "grids": {"own": {"seeds": [1]}},
    "backbones": {
        "tiny": {
            "kind": "random",
            "architecture": {
                "embed_dim": 16,
                "vision_cfg": {"image_size": 48, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
                "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
                "quick_gelu": True,
            },
        }
    },
    "recipe": {"epochs": 2, "batch": 8},
    "report": {"bootstrap": 50},
}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A person's folder, with a space and a letter beyond ASCII: 60 images, some with two captions."""
    home = tmp_path / "my données"
    (home / "data" / "images").mkdir(parents=True)
    random = Random(3)
    rows = []
    for number in range(60):
        scene = random_scene(random, 3)
        name = f"bild {number} ß.png"
        Image.fromarray(draw(scene, 64)).save(home / "data" / "images" / name)
        for version in range(1 + number % 2):
            caption = " ".join(dense_sentences(scene, f"{number}-{version}")) + f" «{number}»"
            rows.append({"image": name, "caption": caption})
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (home / "data" / "captions.jsonl").write_text(text + "\n", encoding="utf-8")
    shutil.copy(ROOT / "config.yaml", home)
    (home / "smaller.yaml").write_text(yaml.safe_dump(SMALLER))
    return home


def snakemake(home: Path, *options) -> subprocess.CompletedProcess:
    template = ROOT / "workflow/studies/own_data.yaml"
    command = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--directory", home]
    command += ["--configfile", template, home / "smaller.yaml", "--cores", "2", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def test_the_template_runs_to_tables_figures_and_a_report(folder):
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    table = (folder / "results/own/tables/main.csv").read_text(encoding="utf-8")
    assert "own/test" in table
    assert (folder / "results/own/figures/epochs.png").stat().st_size > 1000
    again = snakemake(folder, "--dry-run")
    assert "Nothing to be done" in again.stdout
    made = snakemake(folder, "--report", folder / "report.html")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "results/own/tables/main.html" in (folder / "report.html").read_text(encoding="utf-8")


def test_faults_of_the_data_stop_the_study_before_training_and_are_all_named(folder):
    (folder / "data/images/bild 4 ß.png").unlink()
    (folder / "data/images/bild 7 ß.png").write_bytes(b"no picture")
    done = snakemake(folder)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "bild 4 ß.png" in said and "bild 7 ß.png" in said
    assert not list((folder / "results/data/own").glob("*.parquet"))
    assert not list((folder / "results").rglob("weights.safetensors"))
