"""A tiny world for tests: drawn pictures, captions, a random backbone, all made in a folder of the test's own."""

import hashlib
import json
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import torch
from PIL import Image

from hnclip import inputs
from hnclip.data.derive import crops, edge_crops, edges, filtered, first_sentence, lexicon, segments, sentences
from hnclip.data.manifest import write_manifest
from hnclip.data.pixels import write_pixels
from hnclip.data.scene import box, draw, random_scene
from hnclip.data.scene_words import dense_sentences
from hnclip.data.split import open_split
from hnclip.data.tokens import tokenize, write_tokens
from hnclip.embed import embedding_rows, write_embeddings
from hnclip.encode import encode_split
from hnclip.frameworks.base import Framework
from hnclip.models.load import backbone_from

SIZE = 16
TRANSFORM = {"size": SIZE, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
ARCHITECTURE = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": SIZE, "layers": 2, "width": 16, "head_width": 8, "patch_size": 8},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
    "quick_gelu": True,
}
BACKBONE = {
    "kind": "random",
    "architecture": ARCHITECTURE,
    "context": 248,
    "tokenizer": "clip",
    "transform": TRANSFORM,
    "seed": 1,
}
RECIPE = {
    "epochs": 2,
    "batch": 4,
    "accumulate": 1,
    "chunk": None,
    "lr": 1e-2,
    "weight_decay": 0.01,
    "betas": [0.9, 0.999],
    "warmup": 0.1,
    "schedule": "cosine",
    "precision": "32-true",
    "clip_norm": 1.0,
    "scale_clamp": [0.0, 4.6052],
    "checkpoint_every": 3,
    "eval_batch": 8,
    "threads": 1,
    "train_filter": "none",
    "version": 1,
}


def manifest_row(name: str, image: str, caption: str, split: str, **more: Any) -> dict[str, Any]:
    row = {
        "id": name,
        "image": image,
        "caption": caption,
        "sentences": [caption],
        "boxes": [None],
        "family": name,
        "split": split,
        "width": SIZE,
        "height": SIZE,
        "sha256": "0" * 64,
    }
    return {**row, **more}


def make_split(folder: Path, split: str, pairs: int, captions_an_image: int = 1) -> dict[str, str]:
    """Pictures, manifest, pixels and tokens of a split; returns its record."""
    random = Random(split)
    rows = []
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for index in range(pairs):
        scene = random_scene(random, random.randint(1, 4))
        name = f"{split}-{index}"
        picture = folder / "images" / f"{name}.png"
        Image.fromarray(draw(scene, SIZE)).save(picture)
        sha256 = hashlib.sha256(picture.read_bytes()).hexdigest()
        for number in range(captions_an_image):
            sentences = dense_sentences(scene, f"{name}-{number}")
            boxes = [None] + [list(box(thing, SIZE)) for thing in scene.things]
            more = {"sentences": sentences, "boxes": boxes, "sha256": sha256}
            rows.append(manifest_row(name, f"images/{name}.png", " ".join(sentences), split, **more))
    manifest = folder / f"{split}.parquet"
    write_manifest(manifest, rows)
    record = {"name": f"world/{split}", "manifest": str(manifest)}
    record["pixels"] = str(folder / f"{split}.pixels.npy")
    record["tokens"] = str(folder / f"{split}.tokens.npz")
    write_pixels(manifest, TRANSFORM, Path(record["pixels"]))
    write_tokens(Path(record["tokens"]), tokenize([row["caption"] for row in rows], "clip", 248))
    return record


def random_captions(lengths: list[int], random: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids of random captions of these lengths (start and end token included), padded with zeros; the lengths."""
    ids_NT = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        ids_NT[row, : length - 1] = torch.randint(1, 1000, (length - 1,), generator=random)
        ids_NT[row, 0], ids_NT[row, length - 1] = 49406, 49407
    return ids_NT, torch.tensor(lengths)


OPTIONS = {"longclip_pcm": {"components": 2}, "finelip": {"ramp": False}}  # what a tiny world can show
INPUTS = {"first_sentence": True, "crops": True, "edges": "canny", "edge_crops": 2, "lexicon": "colours"}
INPUTS["embeddings"] = True


def entry_of(kind: str, **options: Any) -> dict[str, Any]:
    """The config's entry of a framework, with the inputs that its fields come from."""
    module = import_module(f"hnclip.frameworks.{kind}")
    kinds = [
        found for found in vars(module).values() if isinstance(found, type) and found.__module__ == module.__name__
    ]
    fields = next(found.fields for found in kinds if issubclass(found, Framework))
    needed = {inputs.bringing(field) for field in fields} - {None}
    needed |= {"edges"} if "edge_crops" in needed else set()
    found = {name: INPUTS[name] for name in INPUTS if name in needed}
    return {"kind": kind, "inputs": found, "options": {**OPTIONS.get(kind, {}), **options}}


def make_inputs(record: dict[str, str], framework: dict[str, Any], transform: dict[str, Any] = TRANSFORM) -> None:
    """The files of a framework's inputs for a split, beside it and in its record."""
    manifest = Path(record["manifest"])
    paths = inputs.paths(framework, str(manifest.with_suffix("")), "given", "16", "clip-248")
    tokens, canny = {"tokenizer": "clip", "context": 248}, {"kind": "canny", "low": 100, "high": 200}
    regions = Path(paths.get("segments", ""))
    captions = Path(paths.get("lexicon", ""))
    makers = {
        "first_sentence": (first_sentence, manifest, tokens),
        "segments": (segments, manifest, {"kind": "given", "backbone": BACKBONE, "options": {}}),
        "crops": (crops, manifest, regions, transform),
        "sentences": (sentences, manifest, regions, tokens),
        "edges": (edges, manifest, canny, transform),
        "edge_crops": (edge_crops, manifest, regions, canny, transform, INPUTS["edge_crops"]),
        "lexicon": (lexicon, manifest, {"remove": ["colours"]}),
        "filtered": (filtered, captions, tokens),
    }
    for key, path in paths.items():
        maker, *given = makers[key]
        maker.write(*given, Path(path), Path(inputs.record_path(path)))
    record.update(paths)


def make_embeddings(data: dict[str, Any], backbone: dict[str, Any]) -> dict[str, Any]:
    """The records of the splits by the backbone's embeddings, which are written beside them."""
    torch.set_num_threads(RECIPE["threads"])  # as a training will: the same bits for every cell of a test
    towers = backbone_from(backbone).eval()

    def embedded(record: dict[str, str]) -> dict[str, str]:
        split, path = open_split(record), str(Path(record["manifest"]).with_suffix(".embeddings.parquet"))
        write_embeddings(Path(path), embedding_rows(split, *encode_split(towers, split, 8)), towers, 0)
        return {"name": record["name"], "manifest": record["manifest"], "embeddings": path}

    tests = [embedded(record) for record in data["test"]]
    return {"train": embedded(data["train"]), "validation": embedded(data["validation"]), "test": tests}


def make_crops(record: dict[str, str]) -> None:
    """The crops and sentences of a split's regions once more, after a change of its regions."""
    manifest, regions, tokens = (
        Path(record["manifest"]),
        Path(record["segments"]),
        {"tokenizer": "clip", "context": 248},
    )
    for maker, key, options in ((crops, "crops", TRANSFORM), (sentences, "sentences", tokens)):
        maker.write(manifest, regions, options, Path(record[key]), Path(inputs.record_path(record[key])))


def make_cell(folder: Path, **changes: Any) -> tuple[Path, Path]:
    """A cell's config.json and its folder; `changes` replace parts of the config, recipe keys merge."""
    data = folder / "data"
    pairs = changes.pop("pairs", 13)
    captions = changes.pop("captions_an_image", 1)
    config = {
        "cell": "tiny/world/longclip/infonce/f100/s0",
        "seed": 0,
        "fraction": 100,
        "backbone": BACKBONE,
        "framework": {"kind": "longclip"},
        "loss": {"base": "infonce", "boost": "none"},
        "data": {
            "train": make_split(data, "train", pairs, captions),
            "validation": make_split(data, "validation", 6),
            "test": [make_split(data, "test", 7)],
        },
        "recipe": {**RECIPE, **changes.pop("recipe", {})},
    }
    config.update(changes)
    if inputs.cached(config["framework"]):
        config["data"] = make_embeddings(config["data"], config["backbone"])
    elif inputs.wanted(config["framework"]):
        make_inputs(config["data"]["train"], config["framework"])
    run = folder / "run"
    run.mkdir(parents=True, exist_ok=True)
    (run / "config.json").write_text(json.dumps(config))
    return run / "config.json", run
