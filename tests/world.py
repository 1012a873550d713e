"""A tiny world for tests: drawn pictures, captions, a random backbone, all made in a folder of the test's own."""

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from hnclip.data.manifest import write_manifest
from hnclip.data.pixels import write_pixels
from hnclip.data.scene import draw, random_scene
from hnclip.data.scene_words import dense_sentences
from hnclip.data.tokens import tokenize, write_tokens

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
            caption = " ".join(dense_sentences(scene, f"{name}-{number}"))
            rows.append(manifest_row(name, f"images/{name}.png", caption, split, sha256=sha256))
    manifest = folder / f"{split}.parquet"
    write_manifest(manifest, rows)
    record = {"name": f"world/{split}", "manifest": str(manifest)}
    record["pixels"] = str(folder / f"{split}.pixels.npy")
    record["tokens"] = str(folder / f"{split}.tokens.npz")
    write_pixels(manifest, TRANSFORM, Path(record["pixels"]))
    write_tokens(Path(record["tokens"]), tokenize([row["caption"] for row in rows], "clip", 248))
    return record


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
    run = folder / "run"
    run.mkdir(parents=True, exist_ok=True)
    (run / "config.json").write_text(json.dumps(config))
    return run / "config.json", run
