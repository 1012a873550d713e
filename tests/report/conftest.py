"""A made-up study on disk: ranks drawn from a seed, logs, run records, embeddings; no model is trained."""

import hashlib
from dataclasses import astuple
from pathlib import Path

import numpy
import pandas
import pytest

from hnclip import store
from hnclip.cell import Cell, choices, grid, resolve, setting_cells
from hnclip.report.collect import collect
from hnclip.report.load import Study, read_study
from hnclip.tuning import entry_of, settle

LOSSES = {
    "infonce": {"base": "infonce", "boost": "none"},
    "infonce-s17": {"base": "infonce", "boost": "none", "scale": 17},
    "infonce-s100": {"base": "infonce", "boost": "none", "scale": 100},
    "hn": {"base": "infonce", "boost": "captions", "gamma": 0.5},
    "margin": {"base": "infonce", "boost": "matched", "gamma": 0.5},
    "infonce-tuned": {"base": "infonce", "boost": "none", "scale": [None, 17, 100]},
}
# The share of queries found at rank 0, from which a cell's ranks are drawn.
SKILL = {"infonce": 0.40, "infonce-s17": 0.45, "infonce-s100": 0.25, "hn": 0.47, "margin": 0.43, "none": 0.20}
SKILL["infonce-tuned"] = 0.46
FRAMEWORK_SKILL = {"longclip": 0.0, "hnclip": 0.02, "finelip": -0.05}
# Pairs a second, bytes of the training process, trained parameters.
COSTS = {"longclip": (80.0, 900, 1000), "hnclip": (40.0, 950, 1000), "finelip": (20.0, 1200, 1500)}
BASELINE = 300
INPUTS = {"finelip": {"crops": {"seconds": 30.5}, "first": {"seconds": 2.0}}, "hnclip": {"first": {"seconds": 2.0}}}
EPOCHS = 4
TRANSFORM = {"size": 48, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
SCENES = {"kind": "scenes", "train": "train", "validation": "validation", "test": ["test", "unseen"]}


def number_of(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def made_ranks(cell: Cell, target: str, families: int, size: int) -> pandas.DataFrame:
    """Ranks of a cell: families differ in difficulty alike for all cells, each cell's luck is its own."""
    items = families * size
    ease = numpy.repeat(numpy.random.default_rng(number_of(target)).normal(0, 0.15, families), size)
    skill = SKILL[cell.loss] + FRAMEWORK_SKILL[cell.framework] - 0.0015 * (100 - cell.fraction)
    frames = []
    for direction in ("t2i", "i2t"):
        luck = numpy.random.default_rng(number_of(f"{cell}/{target}/{direction}"))
        found = luck.random(items) < numpy.clip(skill + ease, 0.02, 0.98)
        rank = numpy.where(found, 0, 1 + luck.geometric(0.15, items)).clip(max=items - 1)
        ids = [f"{number:05d}" for number in range(items)]
        query = ids if direction == "i2t" else [f"{name}#0" for name in ids]
        family = numpy.repeat([f"f{number:03d}" for number in range(families)], size)
        frames.append(
            pandas.DataFrame({"target": target, "direction": direction, "query": query, "id": ids, "family": family})
        )
        frames[-1]["rank"] = rank.astype("int32")
        frames[-1]["gallery"] = numpy.int32(items)
        frames[-1]["scoring"] = "cosine"
    return pandas.concat(frames, ignore_index=True)


def rescored(ranks: pandas.DataFrame) -> pandas.DataFrame:
    """The same ranks by cosine, and once more by tokens, where every query is found."""
    return pandas.concat([ranks, ranks.assign(rank=numpy.int32(0), scoring="tokens")], ignore_index=True)


def made_run(cell: Cell) -> dict:
    """What a run record holds beside its config."""
    speed, memory, parameters = COSTS[cell.framework]
    record = {"cell": str(cell), "commit": "a" * 40, "dirty": False, "versions": {"torch": "2.14.1"}}
    record |= {"seconds": 12.5, "pairs": 1000, "pairs_per_second": speed + cell.seed, "device": "cpu", "threads": 1}
    record |= {"peak_memory_bytes": memory * 2**20, "baseline_memory_bytes": BASELINE * 2**20}
    return record | {"trained_parameters": parameters, "inputs": INPUTS.get(cell.framework, {})}


def made_log(cell: Cell, targets: list[str]) -> pandas.DataFrame:
    rows = [{"kind": "train", "step": 0, "epoch": 0, "loss": 1.0}]
    luck = numpy.random.default_rng(number_of(str(cell)))
    for epoch in range(EPOCHS):
        for target in targets:
            score = SKILL[cell.loss] - 0.2 * 0.4**epoch + luck.normal(0, 0.01)
            rows.append({"kind": "eval", "epoch": epoch, "target": target, "t2i_r1": score, "i2t_r1": score - 0.02})
            rows[-1] |= {"queries": 64, "gallery": 64}
    return pandas.DataFrame(rows)


def made_config(**changes) -> dict:
    full = {"backbones": ["tiny"], "train": ["scenes"]}
    grids = {
        "main": full | {"frameworks": ["longclip", "hnclip"], "losses": ["infonce", "hn"], "fractions": [100]},
        "scales": full | {"frameworks": ["longclip"], "fractions": [100]},
        "fractions": full | {"frameworks": ["longclip"], "losses": ["infonce", "hn"], "fractions": [5, 20, 50, 100]},
    }
    grids["main"]["seeds"], grids["scales"]["seeds"], grids["fractions"]["seeds"] = [1, 2, 3], [1], [1]
    grids["scales"]["losses"] = ["infonce-s17", "infonce-s100", "margin"]
    grids["tuned"] = grids["scales"] | {"losses": ["infonce-tuned"], "seeds": [1, 2, 3]}
    grids["third"] = grids["main"] | {"frameworks": ["finelip"], "losses": ["infonce", "hn"], "seeds": [1, 2]}
    config = {
        "study": "made",
        "run": ["main", "third", "scales", "tuned", "fractions"],
        "grids": grids,
        "tuning": {"seed": 9},
        "backbones": {"tiny": {"kind": "starter", "context": 248, "tokenizer": "clip", "transform": TRANSFORM}},
        "recipe": {"epochs": EPOCHS, "batch": 16, "lr": 0.0001, "betas": [0.9, 0.98]},
        "benchmarks": {
            "scenes": {"kind": "scenes", "train": "train", "validation": "validation", "test": ["test", "unseen"]}
        },
        "frameworks": {name: {"kind": name} for name in ("finelip", "hnclip", "longclip")},
        "losses": dict(sorted(LOSSES.items())),
        "report": {"ks": [1, 5, 10, 25, 50], "bootstrap": 400, "confidence": 0.95},
        "allow_mixed_commits": False,
    }
    return config | changes


def made_study(root: Path, config: dict, families: int = 16, size: int = 4) -> Path:
    """Write everything that `collect` reads under `root`; the path of study.json."""
    targets = [f"scenes/{split}" for split in config["benchmarks"]["scenes"]["test"]]
    made, cells = made_choices(root, config), []
    for cell in sorted(grid(config)):
        run = root / "runs" / str(cell)
        choice = next((path for of, path in made.items() if of == astuple(cell)[:5]), None)
        config_of_cell = settle(resolve(config, cell), store.read_json(choice)) if choice else resolve(config, cell)
        ranks = pandas.concat([made_ranks(cell, target, families, size) for target in targets])
        store.write_rows(run / "ranks.parquet", rescored(ranks) if cell.framework == "finelip" else ranks)
        store.write_rows(run / "log.parquet", made_log(cell, ["scenes/validation", *targets]))
        store.write_json(run / "run.json", made_run(cell) | {"config": config_of_cell})
        cells.append({"cell": str(cell), "run": str(run), "eval": []} | ({"choice": choice} if choice else {}))
    zero_shot, embeddings = [], []
    for target in targets:
        split = target.split("/")[1]
        named = {"backbone": "tiny", "benchmark": "scenes", "split": split}
        path = root / "embeddings" / f"{split}.parquet"
        store.write_rows(
            path.with_suffix(".ranks.parquet"),
            made_ranks(Cell("tiny", "", "longclip", "none", 100, 0), target, families, size),
        )
        zero_shot.append(named | {"ranks": str(path.with_suffix(".ranks.parquet"))})
        store.write_rows(path, made_embeddings(families, size))
        embeddings.append(named | {"path": str(path)})
    manifests = {}
    train, tested = config["benchmarks"]["scenes"]["train"], config["benchmarks"]["scenes"]["test"]
    for split in [train, *tested]:
        manifests[f"scenes/{split}"] = str(root / "data" / f"{split}.parquet")
        name = "{:05d}" if split in tested else f"{split}-{{}}"
        write_manifest(Path(manifests[f"scenes/{split}"]), [name.format(number) for number in range(families * size)])
    record = {"config": config, "cells": cells, "zero_shot": zero_shot, "embeddings": embeddings}
    record |= {"manifests": manifests, "downloads": {}, "near": {}}
    record |= {"choices": choice_entries(root, config, made), "cell_embeddings": [], "audits": [], "captions": []}
    store.write_json(root / "study.json", record)
    return root / "study.json"


def made_choices(root: Path, config: dict) -> dict[tuple, str]:
    """Write the choice of every tuned loss of the grids, with its settings' runs; the paths by what was chosen."""
    made = {}
    for cell in sorted(choices(grid(config), config)):
        tried = []
        for name, each in setting_cells(config, cell).items():
            score = SKILL.get(f"infonce-s{entry_of(config['losses'], name).get('scale')}", SKILL["infonce"])
            entry = entry_of(config["losses"], name)
            tried.append({"name": name, "entry": entry, "t2i_r1": score, "i2t_r1": score, "mean": score})
            run = root / "runs" / str(each)
            store.write_json(run / "run.json", made_run(each) | {"config": resolve(config, each)})
        choice = {"loss": cell.loss, "seed": cell.seed, "target": "scenes/validation", "settings": tried}
        choice["chosen"] = max(tried, key=lambda setting: setting["mean"])["name"]
        path = root / "choices" / f"{cell.framework}-{cell.loss}-{cell.fraction}.json"
        store.write_json(path, choice)
        made[astuple(cell)[:5]] = str(path)
    return made


def choice_entries(root: Path, config: dict, made: dict[tuple, str]) -> list[dict]:
    entries = []
    for of, path in made.items():
        tried = setting_cells(config, Cell(*of, seed=0)).values()
        entries.append({"of": list(of), "path": path})
        entries[-1]["cells"] = [{"cell": str(each), "run": str(root / "runs" / str(each))} for each in tried]
    return entries


def write_manifest(path: Path, ids: list[str], contents: list[str] | None = None) -> None:
    """A manifest as far as the report reads it: two captions an image; the hash is that of its content or its id."""
    hashes = [hashlib.sha256(content.encode()).hexdigest() for content in contents or ids]
    rows = [{"id": name, "sha256": digest, "image": f"{name}.png"} for name, digest in zip(ids, hashes, strict=True)]
    store.write_rows(path, [row | {"caption": f"{words} {row['id']}"} for row in rows for words in ("One of", "Also")])


def made_embeddings(families: int, size: int, width: int = 16) -> list[dict]:
    """Two captions an image, as the manifests have them."""
    luck = numpy.random.default_rng(5)
    image = numpy.ones(width) + numpy.repeat(luck.normal(size=(families, width)), 2 * size, axis=0)
    text = image + 0.3 * luck.normal(size=image.shape)
    image, text = (rows / numpy.linalg.norm(rows, axis=1, keepdims=True) for rows in (image, text))
    return [
        {"id": f"{number // 2:05d}", "image": shown.tolist(), "text": row.tolist()}
        for number, (shown, row) in enumerate(zip(image.astype("float32"), text.astype("float32"), strict=True))
    ]


@pytest.fixture(scope="session")
def study_json(tmp_path_factory) -> Path:
    """A collected study, shared: tests read it and write elsewhere."""
    path = made_study(tmp_path_factory.mktemp("made"), made_config())
    collect(path, path.parent / "tables")
    return path


@pytest.fixture(scope="session")
def study(study_json) -> Study:
    return read_study(study_json, study_json.parent / "tables")


@pytest.fixture
def small_study(tmp_path) -> Path:
    """A study of two cells that a test may damage, not yet collected."""
    config = made_config(run=["small"])
    grid = {"backbones": ["tiny"], "train": ["scenes"], "frameworks": ["longclip"], "losses": ["infonce", "hn"]}
    config["grids"] = {"small": grid | {"fractions": [100], "seeds": [1]}}
    return made_study(tmp_path, config, families=4, size=2)


@pytest.fixture
def lone_study(tmp_path) -> Study:
    """A collected study whose test splits have one image each."""
    path = made_study(tmp_path, made_config(run=["fractions"]), families=1, size=1)
    collect(path, tmp_path / "tables")
    return read_study(path, tmp_path / "tables")
