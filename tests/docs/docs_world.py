"""The small world in which commands of the pages run: a clone with a shrunk default study, and a person's folder."""

import csv
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from random import Random

import yaml
from docs_how import FIRST, SMALLER
from docs_pages import blocks
from PIL import Image

from hnclip.data.scene import draw, near_twin, random_scene
from hnclip.data.scene_words import dense_sentences

ROOT = Path(__file__).parents[2]
COPIED = ["Snakefile", "Makefile", "pyproject.toml", "mkdocs.yml", "rules", "workflow", "profiles", "envs"]
LINKED = ["benchmarks", "docs", "tests", "src", "examples"]
OF_MAKE = ("VENV", "PYTHON", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")  # of a make that runs the tests
PICTURES, FAMILY = 60, 4
SMALL = {"recipe": {"epochs": 1, "batch": 8}, "report": {"bootstrap": 50}, "allow_mixed_commits": True}


def shrunk() -> dict:
    """The default config with one grid of two cells, on a handful of scenes."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["run"] = ["shown"]
    config["benchmarks"]["scenes"]["options"]["pairs"] = {"train": 32, "validation": 16, "test": 16, "unseen": 16}
    config["recipe"] |= {"epochs": 1, "batch": 8}
    config["report"] |= {"bootstrap": 50}
    config["allow_mixed_commits"] = True
    return config


def pictures() -> list[tuple[str, Image.Image, str]]:
    """Names, pictures and captions of a person's folder, in families of near-twins; no two are the same."""
    random, found, seen = Random(5), [], set()
    for family in range(PICTURES // FAMILY):
        first, members = random_scene(random, 3), 0
        while members < FAMILY:
            scene = near_twin(first, random, 2) if members else first
            words = " ".join(dense_sentences(scene, f"docs:{family}"))
            if not seen & {words, frozenset(scene.things)}:
                seen |= {words, frozenset(scene.things)}
                found.append((f"{family:02d}-{members}.png", Image.fromarray(draw(scene, 64)), words))
                members += 1
    return found


def write_person(folder: Path) -> None:
    """`photos/`, its captions as captions.csv and captions.jsonl, a few further photos, and a query picture."""
    (folder / "photos").mkdir()
    (folder / "more_photos").mkdir()
    rows = pictures()
    for number, (name, picture, _) in enumerate(rows):
        picture.save(folder / "photos" / name)
        if number < 3:
            picture.rotate(90).save(folder / "more_photos" / f"new-{name}")
    rows[0][1].save(folder / "query.png")
    (folder / "queries.txt").write_text("a red star\nthree shapes on a white ground\n", encoding="utf-8")
    with (folder / "captions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        writer.writerows((name, words) for name, _, words in rows)
    lines = [json.dumps({"image": name, "caption": words}) for name, _, words in rows]
    (folder / "captions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_programs(folder: Path) -> None:
    """`.venv/bin` with this Python, and `.venv/installed`, by which make knows that nothing is to be installed."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    python = shlex.quote(sys.executable)
    for name, start in {
        "python": "",
        "snakemake": "-m snakemake",
        "hnclip": "-m hnclip",
        "pytest": "-m pytest",
    }.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {python} {start} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / ".venv" / "installed").touch()


class World:
    """A folder in which commands of the pages run, each once, after those that it needs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.done: dict[str, subprocess.CompletedProcess] = {}
        for name in COPIED:
            source = ROOT / name
            shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
        for name in LINKED:
            if (ROOT / name).exists():
                (folder / name).symlink_to(ROOT / name)
        (folder / "config.yaml").write_text(yaml.safe_dump(shrunk(), sort_keys=False), encoding="utf-8")
        (folder / "data").mkdir()
        (folder / "small.yaml").write_text(yaml.safe_dump(SMALL), encoding="utf-8")
        tuned = next(block for block in blocks(ROOT / "docs" / "choosing.md") if "plain-tuned" in block.text)
        (folder / "tuned.yaml").write_text(tuned.text, encoding="utf-8")
        write_person(folder)
        shutil.copy(folder / "captions.jsonl", folder / "data" / "docci_test_captions.jsonl")
        write_programs(folder)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in OF_MAKE},
            "PATH": os.pathsep.join([str(folder / ".venv" / "bin"), os.environ["PATH"]]),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "120",
        }

    def run(self, command: str) -> subprocess.CompletedProcess:
        """Run a command of a page, or its smaller form, after what has to be there before; the same command once."""
        if command not in self.done:
            for start, needed in FIRST.items():
                if command.startswith(start) and needed != command:
                    self.run(needed)
            self.done[command] = subprocess.run(
                ["bash", "-c", SMALLER.get(command, command)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=1800,
            )
        return self.done[command]
