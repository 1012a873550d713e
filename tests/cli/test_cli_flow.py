"""The commands as a new user calls them, from captions to a comparison; and a run that is stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pandas
import pytest
import yaml
from PIL import Image

from hnclip.data.scene import draw, random_scene
from hnclip.data.scene_words import dense_sentences

pytestmark = pytest.mark.slow

SMALLER = {
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
    "allow_mixed_commits": True,
}


@pytest.fixture
def place(tmp_path) -> Path:
    """A folder that holds `my données`, a person's folder of 60 images, some with two captions."""
    home = tmp_path / "my données"
    (home / "images").mkdir(parents=True)
    random, rows = Random(3), []
    for number in range(60):
        scene = random_scene(random, 3)
        Image.fromarray(draw(scene, 64)).save(home / "images" / f"bild {number} ß.png")
        for version in range(1 + number % 2):
            caption = " ".join(dense_sentences(scene, f"{number}-{version}")) + f" «{number}»"
            rows.append({"image": f"bild {number} ß.png", "caption": caption})
    (home / "captions.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n")
    (home / "smaller.yaml").write_text(yaml.safe_dump(SMALLER))
    return tmp_path


def hnclip(place: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, "-m", "hnclip", *arguments], cwd=place, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def ranks_by(path: Path) -> dict[str, list[int]]:
    frame = pandas.read_parquet(path)
    return {direction: list(rows["rank"]) for direction, rows in frame.groupby("direction")}


def ranks_again(place: Path, run: str) -> dict[str, list[int]]:
    """The ranks of the study's test captions as captions of one's own."""
    frame = pandas.read_parquet(place / "my données/results/data/own/test.parquet")
    frame[["image", "caption"]].to_csv(place / "test.csv", index=False)
    return ranks_by(place / json.loads(hnclip(place, "evaluate", run, "test.csv", "--json").stdout)["ranks"])


def test_from_captions_to_a_comparison(place):
    options = ("--split", "60/20/20", "--seeds", "1", "--name", "own", "--yes")
    assert "hnclip run 'my données'" in hnclip(place, "init", "my données", *options).stdout
    study = ("my données", "my données/smaller.yaml")
    assert "Training tiny/own/longclip" in hnclip(place, "run", *study, "--dry-run").stdout
    done = hnclip(place, "run", *study)
    assert "Preparing benchmark own" in done.stderr and "own/test" in done.stdout
    report = place / "my données/results/own/report.html"
    written = report.stat().st_mtime_ns
    assert str(report) in done.stderr and "results/own/tables/main.html" in report.read_text()
    again = hnclip(place, "run", *study)
    assert "Nothing to do" in again.stderr and report.stat().st_mtime_ns == written

    runs = [f"my données/results/own/runs/tiny/own/longclip/{loss}/f100/s1" for loss in ("infonce", "hn")]
    kept = json.loads(hnclip(place, "evaluate", runs[0], "--json").stdout)["recalls"]
    assert {(row["target"], row["direction"]) for row in kept} == {("own/test", "t2i"), ("own/test", "i2t")}
    captions = ("my données/captions.jsonl", "--images", "my données/images", "--name", "all-of-them")
    for run in runs:
        found = json.loads(hnclip(place, "evaluate", run, *captions, "--json").stdout)
        assert (found["images"], found["captions"]) == (60, 90) and Path(place / found["ranks"]).is_file()
    assert ranks_by(place / runs[0] / "ranks.parquet") == ranks_again(place, runs[0])
    said = hnclip(place, "compare", *runs)
    assert "own/test" in said.stdout and "all-of-them/all" in said.stdout and "One seed" in said.stderr


def test_a_model_that_is_no_run_is_ranked_into_a_file(place):
    line = ("evaluate", "tiny", "my données/captions.jsonl", "--images", "my données/images")
    assert "--out" in hnclip(place, *line, status=1).stderr
    done = hnclip(place, *line, "--out", "zero.parquet", "--ks", "1,70")
    assert "captions/all" in done.stdout and "R@70 on captions/all says nothing" in done.stdout
    assert "same method" in hnclip(place, "compare", "zero.parquet", "zero.parquet", status=1).stderr
    assert sorted(path.name for path in place.iterdir()) == ["my données", "zero.parquet"]


def test_one_cell_of_no_grid_is_trained_with_what_it_needs_alone(place):
    hnclip(place, "init", "my données", "--split", "60/20/20", "--name", "own", "--seeds", "1", "--yes")
    assert "choose by --loss" in hnclip(place, "train", "my données", status=1).stderr
    overlay = ("--overlay", "my données/smaller.yaml")
    done = hnclip(place, "train", "my données", "--loss", "margin", "--seed", "7", *overlay)
    assert "No grid of the study has this cell" in done.stderr and "R@1" in done.stdout
    (run,) = (place / "my données/results/own/runs").rglob("run.json")
    assert run.parent.parts[-3:] == ("margin", "f100", "s7")
    assert not (place / "my données/results/own/tables").exists()


def test_a_run_that_is_interrupted_ends_with_75_and_goes_on(place):
    hnclip(place, "init", "my données", "--split", "60/20/20", "--name", "own", "--seeds", "1", "--yes")
    smaller = SMALLER | {"recipe": {"epochs": 400, "batch": 8}}
    (place / "my données/smaller.yaml").write_text(yaml.safe_dump(smaller))
    line = [
        sys.executable,
        "-m",
        "hnclip",
        "train",
        "my données",
        "--loss",
        "hn",
        "--overlay",
        "my données/smaller.yaml",
    ]
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # a shell's background ignores it
    with subprocess.Popen(
        line, cwd=place, stderr=subprocess.PIPE, text=True, start_new_session=True, **heard
    ) as process:
        log = place / "my données/logs/train/own/tiny/own/longclip/hn/f100/s1.log"
        for _ in range(6000):
            if log.is_file() and "epoch 1 " in log.read_text():
                break
            signal.sigtimedwait([], 0.05)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 75, said
    assert "goes on where it was" in said
    assert list((place / "my données/results").rglob("checkpoint.pt"))


def test_replaced_images_stop_a_run_until_the_data_is_prepared_anew(place):
    home = place / "my données"
    captions = str(home / "captions.jsonl")
    hnclip(place, "init", "study", "--captions", captions, "--images", str(home / "images"), "--yes")
    hnclip(place, "run", "study", "--data")
    Image.new("RGB", (64, 64), "red").save(home / "images" / "bild 7 ß.png")
    for command in ("run study", "run study --dry-run", "train study --loss hn --seed 42"):
        said = hnclip(place, *command.split(), status=1).stderr
        assert said.count("bild 7 ß.png") == said.count(".png") == 1 and "`hnclip run study --data`" in said
    assert "Images of benchmark study were replaced" in hnclip(place, "run", "study", "--data").stderr
    assert "Training tiny/study" in hnclip(place, "run", "study", "--dry-run").stdout
