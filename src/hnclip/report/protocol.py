"""How a cell of a study was trained and tested otherwise than the paper's (arXiv 2608.18521), from the config."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas

from hnclip.report.load import Study
from hnclip.report.methods import Method
from hnclip.report.paper import BACKBONE, TEST_PAIRS, TRAIN_PAIRS

# What the paper states of its training, and the peak learning rate of each kind of framework.
RECIPE = {"epochs": 10, "schedule": "cosine"}
BATCH = {"batch": 16, "accumulate": 8}
OWN_BATCH = ("goal", "structxlip")  # kinds whose batch the paper does not state
RATES = {
    "longclip": 2e-6,
    "hnclip": 2e-6,
    "finelip": 1e-6,
    "goal": 5e-6,
    "structxlip": 5e-6,
    "lora": 5e-5,
    "dora": 5e-5,
}
PIXELS = 224
UNSAID = ("weight_decay", "warmup", "betas", "precision", "clip_norm", "scale_clamp")


def differences(study: Study, method: Method, target: str) -> list[str]:
    """What differs, each as `batch 128 (paper 16)`; of zero-shot only backbone, pixels and test pairs count."""
    found = []
    if not _is_papers(study.config["backbones"][method.backbone]):
        found.append(f"backbone {method.backbone} (paper {BACKBONE})")
    pixels = study.config["backbones"][method.backbone]["transform"]["size"]
    found += _unlike({"pixels": pixels}, {"pixels": PIXELS})
    pairs = TEST_PAIRS[study.config["benchmarks"][target.split("/")[0]]["kind"]]
    images = max(gallery for _, gallery in study.sizes[target].values())
    found += _unlike({"test pairs": images}, {"test pairs": pairs})
    return found if method.kind == "zero_shot" else [*found, *_training(study, method)]


def _is_papers(backbone: dict[str, Any]) -> bool:
    """True for the released Long-CLIP-L, by the name of its file."""
    return backbone["kind"] == "longclip" and "longclip-l" in Path(str(backbone.get("weights", ""))).name.lower()


def _training(study: Study, method: Method) -> list[str]:
    """What differs in the recipe of a framework, and every option that its entry sets."""
    framework = study.config["frameworks"][method.framework]
    kind, recipe = framework["kind"], recipe_of(study, method)
    wanted = RECIPE | {"lr": RATES[kind]} | ({} if kind in OWN_BATCH else BATCH)
    options = [f"option {name} {value}" for name, value in sorted(framework.get("options", {}).items())]
    filtered = recipe.get("train_filter", "none")
    return [*_unlike(recipe, wanted), *options, *([f"train_filter {filtered}"] if filtered != "none" else [])]


def recipe_of(study: Study, method: Method) -> dict[str, Any]:
    """The common recipe with what the method's framework has of its own."""
    return {**study.config["recipe"], **study.config["frameworks"][method.framework].get("recipe", {})}


def _unlike(ours: dict[str, Any], papers: dict[str, Any]) -> list[str]:
    return [
        f"{name} {_number(ours[name])} (paper {_number(value)})"
        for name, value in papers.items()
        if name in ours and ours[name] != value
    ]


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def protocol_differences(study: Study, methods: list[Method], target: str) -> list[str]:
    """Sentences: what differs for all rows of a table, what for single frameworks, and what the paper leaves open."""
    each = {_where(method): differences(study, method, target) for method in methods}
    common = [words for words in next(iter(each.values())) if all(words in found for found in each.values())]
    parts = [", ".join(common)] if common else []
    for where, found in each.items():
        own = [words for words in found if words not in common]
        parts += [f"{where}: {', '.join(own)}"] if own else []
    notes = ["Protocol: nothing differs from what the paper states."]
    if parts:
        notes = [f"Protocol otherwise than the paper's: {'; '.join(parts)}."]
    if all(method.kind == "zero_shot" for method in methods):
        return notes
    recipe = study.config["recipe"]
    open_words = ", ".join(f"{name} {_number(recipe[name])}" for name in UNSAID if name in recipe)
    return [*notes, f"The paper does not state these, which a framework's recipe may change: {open_words}."]


def _where(method: Method) -> str:
    return f"{method.framework} on {method.train}" if method.train else "zero-shot"


def train_notes(study: Study, trains: Iterable[str]) -> list[str]:
    """How many images are in the training splits, and how many pairs the paper trained on."""
    manifests = study.record.get("manifests", {})
    words = []
    for train in dict.fromkeys(train for train in trains if train):
        entry = study.config["benchmarks"][train]
        path = manifests.get(f"{train}/{entry['train']}")
        if path and entry["kind"] in TRAIN_PAIRS and Path(path).is_file():
            images = pandas.read_parquet(path, columns=["id"])["id"].nunique()
            words.append(
                f"{train}/{entry['train']} has {images} images, the paper's {TRAIN_PAIRS[entry['kind']]} pairs"
            )
    return [f"Trained on: {'; '.join(words)}."] if words else []
