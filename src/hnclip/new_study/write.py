"""A new study: put together, its data and its config checked whole, then written."""

import os
import re
import shutil
from contextlib import chdir
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from hnclip import inputs, project
from hnclip.check import CONFIG_FOLDERS, SHARED
from hnclip.data.manifest import images, read_manifest
from hnclip.data.prepared_rows import clear
from hnclip.model_spec import backbone_entry, is_adapted, whole_paths
from hnclip.new_study.text import TOY, Wanted, study_text
from hnclip.options import unknown

FILE = "study.yaml"
CHECK = ".hnclip-check"  # a folder that is there while the data is looked at, or where it found something
WEIGHTS = ("weights", "pretrained")
FROM_PAPER = ("options", "recipe")  # of a framework's entry: what changes from the toy's to a pretrained backbone


@dataclass(frozen=True)
class Size:
    """Images and captions of a split."""

    images: int
    captions: int


def base() -> dict[str, Any]:
    """config.yaml, over which the study is laid."""
    return yaml.safe_load((project.root() / "config.yaml").read_text(encoding="utf-8"))


def slug(text: str) -> str:
    """A name that may stand in a path."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_") or "own"


def relative(path: str | Path, folder: Path) -> str:
    """A path as the study says it: from its folder where it lies below, else whole."""
    place = Path(os.path.abspath(path))
    return os.path.relpath(place, folder) if place.is_relative_to(folder) else str(place)


def names(text: str, known: dict[str, Any]) -> tuple[str, str]:
    """The study's name, and that of its data, which no other benchmark has. Raises ValueError for a reserved one."""
    name = slug(text)
    if name in SHARED:
        raise ValueError(f"--name {name}: results/{name} holds what studies share; choose another name")
    taken = {*known["benchmarks"], *CONFIG_FOLDERS}
    return name, (f"my-{name}" if name in taken else name)


def backbone(model: str, folder: Path, known: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """The name and the entry of the model to start from; the toy is in every config. Raises ValueError for no model."""
    if model == TOY:
        return TOY, None
    if is_adapted(model):
        raise ValueError(f"{model} maps embeddings and has no towers to start from; name the model that it maps")
    entry = whole_paths(backbone_entry(model), Path.cwd())
    for key in WEIGHTS:
        if key in entry and Path(entry[key]).is_absolute():
            entry[key] = relative(entry[key], folder)
    name = slug(Path(model).name if Path(model).exists() else model)
    return (f"my-{name}" if name in known["backbones"] else name), entry


def own_entries(model: str, frameworks: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """What frameworks and regions need beside config.yaml's toy settings, for a pretrained backbone."""
    found: dict[str, Any] = {}
    paper = yaml.safe_load(project.shipped()["paper"].read_text(encoding="utf-8"))["frameworks"]
    changed = {name: _learning(paper[name]) for name in frameworks if name in paper}
    if changed:
        found["frameworks"] = changed
    if needs_regions(frameworks, known):
        found["segments"] = {"felzenszwalb": {"backbone": model}}
    return found


def _learning(entry: dict[str, Any]) -> dict[str, Any]:
    kept = {key: entry[key] for key in FROM_PAPER if key in entry}
    kept["recipe"] = {key: value for key, value in kept.get("recipe", {}).items() if key != "precision"}
    return {key: value for key, value in kept.items() if value}


def needs_regions(frameworks: list[str], known: dict[str, Any]) -> bool:
    """Whether one of the frameworks trains on regions. Raises ValueError for one that is unknown."""
    for name in frameworks:
        if name not in known["frameworks"]:
            raise ValueError("--frameworks: " + unknown("framework", name, known["frameworks"]))
    return any(inputs.needs_segments(known["frameworks"][name]) for name in frameworks)


def checked(wanted: Wanted, folder: Path) -> dict[str, Size]:
    """Look at the study's data whole, and say how large each split is.

    Raises ValueError naming every fault; the whole list is then in the folder CHECK.
    """
    work, entry = folder / CHECK, wanted.benchmark
    shutil.rmtree(work, ignore_errors=True)
    with chdir(folder):
        import_module(f"hnclip.data.prepare.{entry['kind']}").prepare(entry["options"], work)
    sizes = {}
    for path in sorted(work.glob("*.parquet")):
        frame = read_manifest(path)
        sizes[path.stem] = Size(len(images(frame)), len(frame))
    clear(work)
    return sizes


def write(wanted: Wanted, folder: Path, run_as: str) -> Path:
    """Check the config as the workflow does, and write the study. Raises ValueError naming everything wrong with it."""
    part = folder / f".{FILE}.part"
    part.write_text(study_text(wanted, run_as), encoding="utf-8")
    try:
        project.read([part], folder)
        part.replace(folder / FILE)
    finally:
        part.unlink(missing_ok=True)
    return folder / FILE
