"""A study's configuration, checked whole before anything runs. No torch."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from hnclip import frameworks
from hnclip.architecture import LOCAL
from hnclip.caption_places import files_of
from hnclip.cell import Config
from hnclip.check_cached import cached_problems
from hnclip.check_captions import caption_problems
from hnclip.check_inputs import input_problems
from hnclip.check_losses import loss_problems
from hnclip.check_scale import scale_problems
from hnclip.check_schema import schema_errors, spell
from hnclip.check_sources import source_problems
from hnclip.check_towers import tower_problems
from hnclip.data import prepare
from hnclip.options import from_dict, unknown
from hnclip.recipe import Recipe
from hnclip.split_files import all_splits, parse_overlap
from hnclip.study import made_files, narrow, segments_files, user_files, user_places
from hnclip.tower_files import WEIGHTS_KEYS, tower_files

TOWERS = ["context", "tokenizer", "transform"]
NEEDED = {
    "starter": TOWERS,
    "checkpoint": ["weights", *TOWERS],
    "longclip": ["weights", *TOWERS],
    "open_clip": ["model", "pretrained", *TOWERS],
    "joined": ["image", "text", *TOWERS],
    "random": ["architecture", *TOWERS],
    "embeddings": ["file"],
}
READ = {kind: [*needed] for kind, needed in NEEDED.items()}
READ["open_clip"] += ["pretrained_tag"]
READ["random"] += ["seed"]
READ["embeddings"] += ["id_column", "image_column", "text_column", "caption_column", "scale"]
AXES = {
    "backbones": "backbones",
    "train": "benchmarks",
    "frameworks": "frameworks",
    "losses": "losses",
    "transfer": "benchmarks",
}
SHARED = ("data", "embeddings", "captions", "downloads", "overlap", "starter")
CONFIG_FOLDERS = ("transforms", "tokenizers", "segments", "edges", "lexicons")
SINGULAR = {"backbones": "backbone", "benchmarks": "benchmark", "frameworks": "framework", "losses": "loss"}


def check(config: Config, schema: dict[str, Any]) -> None:
    """Refuse unknown keys, wrong values and names that nothing answers to; one ValueError names all of them."""
    errors = list(schema_errors(config, schema))
    problems = [f"{spell(path)}: {text}" for path, text, _ in errors]
    if not any(fatal for _, _, fatal in errors):
        problems += [*_names(config), *_entries(config), *input_problems(config), *_overlaps(config), *_files(config)]
        problems += [*caption_problems(config), *cached_problems(config)]
        problems += loss_problems(config, {path[1] for path, _, _ in errors if len(path) > 1 and path[0] == "losses"})
        if not any("recipe" in path for path, _, _ in errors):
            problems += [*_recipes(config), *scale_problems(config), *tower_problems(config)]
    if problems:
        count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ValueError("\n  ".join([f"the configuration (config.yaml with its overlays) has {count}:", *problems]))


def _names(config: Config) -> Iterator[str]:
    """Names that nothing answers to, and a study's name that would hide shared files."""
    if config["study"] in SHARED:
        yield f"study: results/{config['study']} holds what studies share; choose another name"
    for index, name in enumerate(config["run"]):
        if name not in config["grids"]:
            yield f"run[{index}]: " + unknown("grid", name, config["grids"])
    for grid, axes in config["grids"].items():
        for axis, section in AXES.items():
            for name in axes.get(axis, []):
                if name not in config[section]:
                    yield f"grids.{grid}.{axis}: " + unknown(SINGULAR[section], name, config[section])
                elif axis == "train" and config[section][name].get("train") is None:
                    yield f"grids.{grid}.train: benchmark {name!r} has no `train` split to train on"
    for name in config["benchmarks"]:
        if name in CONFIG_FOLDERS:
            yield f"benchmarks.{name}: results/data/{name} holds what benchmarks share; choose another name"
    for section, kinds in {"benchmarks": prepare.kinds(), "frameworks": frameworks.names()}.items():
        for name, entry in config[section].items():
            if entry["kind"] not in kinds:
                yield f"{section}.{name}.kind: " + unknown(f"kind of {SINGULAR[section]}", entry["kind"], kinds)


def _entries(config: Config) -> Iterator[str]:
    """Backbones that lack what their kind needs, splits used twice."""
    special = {key for keys in READ.values() for key in keys}
    for name, entry in config["backbones"].items():
        kind = entry["kind"]
        folder = kind == "open_clip" and str(entry.get("model")).startswith(LOCAL)  # which holds its weights
        for key in sorted(set(NEEDED.get(kind, [])) - set(entry) - ({"pretrained"} if folder else set())):
            yield f"backbones.{name}: kind {kind!r} needs {key!r}"
        for key in sorted(special & set(entry) - set(READ.get(kind, special))):
            yield f"backbones.{name}.{key}: kind {kind!r} does not read it"
    for name, entry in config["benchmarks"].items():
        train, validation = entry.get("train"), entry.get("validation")
        if train is not None and train in [validation, *entry["test"]]:
            yield f"benchmarks.{name}: split {train!r} is trained on and evaluated on"
        elif validation in entry["test"]:
            yield f"benchmarks.{name}: split {validation!r} is tested on, and choices are made on it"


def _overlaps(config: Config) -> Iterator[str]:
    """Lists of shared images that would be made from a benchmark or a split that is not there, or from itself."""
    known = config["benchmarks"]
    for name in known:
        for path in made_files(config, name):
            place = f"benchmarks.{name}.options.exclude: {path}"
            parts = parse_overlap(path)
            for benchmark, split in (parts[:2], parts[2:]):
                if benchmark == name:
                    yield f"{place} is made from this very benchmark; make it from an entry without `exclude`"
                elif benchmark not in known:
                    yield f"{place}: " + unknown("benchmark", benchmark, known)
                elif split not in all_splits(known[benchmark]):
                    yield f"{place}: " + unknown(f"split of {benchmark}", split, all_splits(known[benchmark]))


def _recipes(config: Config) -> Iterator[str]:
    """What a cell would refuse of its recipe: the common one, then each framework's where the common one is sound."""
    merged = {"recipe": config["recipe"]}
    try:
        from_dict(Recipe, config["recipe"], "recipe")
        for name, entry in config["frameworks"].items():
            merged[f"frameworks.{name}.recipe"] = {**config["recipe"], **entry.get("recipe", {})}
    except ValueError:
        pass
    for place, recipe in merged.items():
        try:
            from_dict(Recipe, recipe, place)
        except ValueError as error:
            yield str(error)


def _absent_places(config: Config, benchmark: str) -> list[str]:
    """What is missing of the shards and patterns that a benchmark's captions are read from."""
    faults = []
    for path in user_places(config, benchmark):
        try:
            Path(path).is_dir() or files_of(path)
        except (ValueError, OSError) as error:
            faults.append(str(error))
    return faults


def _files(config: Config) -> Iterator[str]:
    """Options that the study's benchmarks do not have, splits that they would not write, files that are not there."""
    used = narrow({**config, "run": [name for name in config["run"] if name in config["grids"]]})
    yield from source_problems(config, used)
    for name in used["segments"]:
        for path in segments_files(config, name):
            if not Path(path).is_file():
                yield f"segments.{name}.options: there is no file or folder {path}"
    for name in used["backbones"]:
        try:
            missing = [path for path in tower_files(used["backbones"][name]) if not Path(path).is_file()]
        except ValueError as error:
            yield f"backbones.{name}: {error}"
            continue
        for path in missing:
            yield f"backbones.{name}.{WEIGHTS_KEYS[used['backbones'][name]['kind']]}: there is no file {path}"
    for name, entry in used["benchmarks"].items():
        missing = [path for path in user_files(config, name) if not Path(path).is_file()]
        faults = [f"there is no file {path}" for path in missing] + _absent_places(config, name)
        yield from (f"benchmarks.{name}.options: {fault}" for fault in faults)
        if faults or entry["kind"] not in prepare.kinds():
            continue
        try:
            found = import_module(f"hnclip.data.prepare.{entry['kind']}").splits(entry["options"])
        except (ValueError, OSError) as error:
            yield f"benchmarks.{name}: {error}"
            continue
        for split in all_splits(entry):
            if split not in found:
                yield f"benchmarks.{name}: " + unknown("split", split, found)
